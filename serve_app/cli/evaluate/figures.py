"""What an evaluation found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from catalog.evaluation.classes import class_figures, confusion, together
from catalog.evaluation.metrics import Predicted, Score, scored
from deployments.worker.evaluation import Answers
from deployments.worker.voting import packing_factors
from dispatch.ensemble.ballots import Ballots

Classes = NDArray[np.int64]


@dataclass(frozen=True)
class VariantFigures:
    """One variant: its score, the median latency of one row, and by class how good it is, where it names classes."""

    score: Score
    latency_ms: float
    packing_factor: int
    kept_rows: int
    said: Classes | None
    confusion: NDArray[np.int64] | None


@dataclass(frozen=True)
class Evaluated:
    """All variants by name, the most accurate first. ``names`` are those of the classes; ``labels`` are class indices
    where there are classes."""

    task: str
    metric: str
    data: str
    labels: NDArray[Any]
    names: Sequence[str]
    variants: Mapping[str, VariantFigures]

    @property
    def of_classes(self) -> bool:
        """Whether answers name classes."""
        return all(each.said is not None for each in self.variants.values())

    @property
    def votes(self) -> dict[str, Classes]:
        """By variant the class that it gave to each row; empty without classes."""
        return {name: each.said for name, each in self.variants.items() if each.said is not None}

    def classes(self, variant: str) -> dict[str, dict[str, float]]:
        """Precision, recall, F1 and examples by class; empty without classes."""
        matrix = self.variants[variant].confusion
        return {} if matrix is None else class_figures(matrix, self.names)

    def to_record(self) -> dict[str, Any]:
        """In JSON values."""
        return {
            "task": self.task,
            "metric": self.metric,
            "data": self.data,
            "examples": len(self.labels),
            "variants": {
                name: {
                    "accuracy": each.score.value,
                    "low": each.score.low,
                    "high": each.score.high,
                    "latency_ms": each.latency_ms,
                    "packing_factor": each.packing_factor,
                    "kept_rows": each.kept_rows,
                    "classes": self.classes(name),
                }
                for name, each in self.variants.items()
            },
            "together": together(self.votes, self.labels) if self.of_classes else {},
        }


def evaluated(
    task: str,
    answers: Mapping[str, Answers],
    labels: NDArray[Any],
    ballots: Ballots | None,
    names: Sequence[str],
    metric: str,
    data: str,
) -> tuple[Evaluated, dict[str, str]]:
    """Figures of answers to rows with these ``labels``, class indices where there are ``ballots``; and by variant why
    its answers cannot be scored, such as for scores that are no numbers.

    Raises `ConfigError` where those of no variant can, as where the metric does not fit.
    """
    rated: dict[str, tuple[Predicted, Score]] = {}
    faults: dict[str, ConfigError] = {}
    for name, each in answers.items():
        try:
            predicted = _predicted(name, each, ballots, len(labels))
            rated[name] = predicted, scored(metric, predicted, labels)
        except ConfigError as error:
            faults[name] = error
    if not rated:
        raise next(iter(faults.values()))
    packing = packing_factors({name: answers[name].latency_ms for name in rated})
    found = {}
    for name, (predicted, score) in rated.items():
        each = answers[name]
        matrix = None
        if predicted.classes is not None and ballots is not None:
            matrix = confusion(labels, predicted.classes, ballots.classes)
        found[name] = VariantFigures(score, each.latency_ms, packing[name], each.kept_rows, predicted.classes, matrix)
    count = 0 if ballots is None else ballots.classes
    called = tuple(names) if names else tuple(str(index) for index in range(count))
    ordered = dict(sorted(found.items(), key=lambda item: -item[1].score.value))
    return Evaluated(task, metric, data, labels, called, ordered), {name: str(error) for name, error in faults.items()}


def _predicted(name: str, answers: Answers, ballots: Ballots | None, rows: int) -> Predicted:
    if ballots is None:
        return Predicted(answers.outputs)
    try:
        classes = np.array(ballots.read(answers.outputs, rows), dtype=np.int64)
    except ValueError as error:
        raise ConfigError(f"variant {name!r}: {error}; correct the model or the labels in the catalogue") from error
    scores = None if ballots.scores is None else answers.outputs.get(ballots.scores)
    return Predicted(answers.outputs, classes, scores)
