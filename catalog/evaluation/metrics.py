"""Metrics by name or import path: how good predictions are on labelled data, from 0 to 1."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catalog.errors import AccordError, ConfigError
from catalog.evaluation.interval import wilson
from catalog.faults import nearest
from catalog.tensor import Arrays

RESAMPLES = 200
"""Bootstrap samples for the interval of a score that is no share of right examples."""

SEED = 17

Labels = NDArray[Any]
"""The truth of each example: class indices INT64 [rows], or values [rows, ...]."""


@dataclass(frozen=True)
class Predicted:
    """What a variant said of each row: its ``outputs``, and where these name classes, ``classes`` INT64 [rows] and
    ``scores`` [rows, classes]."""

    outputs: Arrays
    classes: NDArray[np.int64] | None = None
    scores: NDArray[Any] | None = None

    def take(self, rows: NDArray[np.intp]) -> "Predicted":
        """These rows only, in this order."""
        return Predicted(
            {name: array[rows] for name, array in self.outputs.items()},
            None if self.classes is None else self.classes[rows],
            None if self.scores is None else self.scores[rows],
        )


@dataclass(frozen=True)
class Score:
    """A metric's value and the ends of its 95% interval, all 0 to 1."""

    value: float
    low: float
    high: float


Metric = Callable[[Predicted, Labels], NDArray[np.float64] | float]
"""Gives one score per example, whose mean counts, or one of all together."""


def accuracy(predicted: Predicted, labels: Labels) -> NDArray[np.float64]:
    """1 for each row whose class is the true one."""
    return np.asarray(_classes(predicted, "accuracy") == labels, dtype=np.float64)


def top5(predicted: Predicted, labels: Labels) -> NDArray[np.float64]:
    """1 for each row whose true class is among the five with the highest scores."""
    if predicted.scores is None:
        raise ConfigError("metric top5 needs an output with the scores of all classes, [-1, classes]; use accuracy")
    best = np.argsort(-predicted.scores, axis=1, kind="stable")[:, :5]
    return np.asarray((best == labels[:, None]).any(axis=1), dtype=np.float64)


def macro_f1(predicted: Predicted, labels: Labels) -> float:
    """The mean over the classes that occur of their F1, the harmonic mean of precision and recall."""
    said = _classes(predicted, "macro_f1")
    size = 1 + max(int(labels.max()), int(said.max()))
    true, named = np.bincount(labels, minlength=size), np.bincount(said, minlength=size)
    hit = np.bincount(labels[said == labels], minlength=size)
    seen = (true + named) > 0
    return float(np.mean(2.0 * hit[seen] / (true + named)[seen]))


def mean_absolute_error(predicted: Predicted, labels: Labels) -> NDArray[np.float64]:
    """1 minus the error of each row, in units of what a constant answer errs on average: the labels' median.

    So 1 is for answers without error, and 0 for those that are no better than the best constant.
    """
    numbers = [each for each in predicted.outputs.values() if each.dtype.kind in "iuf"]
    values = [
        each.reshape(labels.shape)
        for each in numbers
        if _row_shape(each) == _row_shape(labels) and len(each) == len(labels)
    ]
    if len(values) != 1:
        given = ", ".join(f"{name} {list(each.shape)}" for name, each in predicted.outputs.items())
        raise ConfigError(
            f"metric mean_absolute_error needs one numeric output of the labels' shape {list(labels.shape)}, axes of "
            f"size 1 apart; the outputs are {given}; give labels of such a shape"
        )
    truth = labels.astype(np.float64)
    axes = tuple(range(1, truth.ndim))
    error = np.abs(values[0] - truth).mean(axis=axes)
    constant = float(np.abs(truth - np.median(truth, axis=0)).mean())
    if constant == 0.0:
        raise ConfigError("metric mean_absolute_error: all labels are the same, so that no error can be compared")
    return np.asarray(1.0 - error / constant, dtype=np.float64)


def _row_shape(array: NDArray[Any]) -> tuple[int, ...]:
    """Of one row, without axes of size 1: regressors give [rows, 1] for labels of one number each."""
    return tuple(size for size in array.shape[1:] if size != 1)


METRICS: Mapping[str, Metric] = MappingProxyType(
    {"accuracy": accuracy, "macro_f1": macro_f1, "top5": top5, "mean_absolute_error": mean_absolute_error}
)

OF_CLASSES = ("accuracy", "macro_f1", "top5")
"""Those whose labels are classes."""


def metric(name: str) -> Metric:
    """The metric of that name, or the function that ``module:function`` names.

    Such a function is called with the outputs by name and the labels, and gives a score per row or one of all, 0 to 1.
    Raises `ConfigError`.
    """
    if name in METRICS:
        return METRICS[name]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ConfigError(
            f"metric {name!r} is unknown{nearest(name, METRICS)}; use {', '.join(METRICS)}, or the import path "
            "module:function"
        )
    try:
        function = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # of the user's module: a syntax error, or whatever it does when it is imported
        raise ConfigError(
            f"metric {name!r} cannot be imported: {type(error).__name__}: {error}; name a function of an importable "
            "module"
        ) from error
    if not callable(function):
        raise ConfigError(f"metric {name!r} is a {type(function).__name__}, and cannot be called; name a function")
    return lambda predicted, labels: _own(name, function, predicted, labels)


def _own(name: str, function: Callable[[Arrays, Labels], Any], predicted: Predicted, labels: Labels) -> Any:
    """What a function of the user's gives; raises `ConfigError` where it fails, or gives no numbers."""
    try:
        return np.asarray(function(predicted.outputs, labels), dtype=np.float64)
    except AccordError:
        raise
    except Exception as error:  # of the user's function
        raise ConfigError(
            f"metric {name!r} fails on {len(labels)} rows: {type(error).__name__}: {error}; it is called with the "
            "outputs by name and the labels, and gives a number per row, or one"
        ) from error


def scored(name: str, predicted: Predicted, labels: Labels) -> Score:
    """A metric's score with its interval: Wilson's for a share of examples, else by resampling rows (bootstrap
    percentiles, B. Efron, 1979). Raises `ConfigError` where the metric does not fit the predictions."""
    function = metric(name)
    found = function(predicted, labels)
    rows = len(labels)
    if np.ndim(found) == 1:
        each = np.asarray(found, dtype=np.float64)
        if len(each) != rows:
            raise ConfigError(f"metric {name!r} gives {len(each)} scores for {rows} rows; give one per row, or one")
        if np.isin(each, (0.0, 1.0)).all():
            return Score(_checked(name, each.mean()), *wilson(float(each.sum()), rows))
        resampled = [each[chosen].mean() for chosen in _resamples(rows)]
    else:
        each = np.asarray(found, dtype=np.float64)
        resampled = [float(np.mean(function(predicted.take(chosen), labels[chosen]))) for chosen in _resamples(rows)]
    low, high = np.clip(np.quantile(resampled, (0.025, 0.975)), 0.0, 1.0)
    return Score(_checked(name, each.mean()), float(low), float(high))


def _checked(name: str, value: Any) -> float:
    """A score; those of metrics that say how much better than a constant answer may be below 0, which counts as 0."""
    if not np.isfinite(value) or value > 1.0:
        raise ConfigError(f"metric {name!r} gives {float(value):g}; a score is from 0 to 1, 1 for the best")
    return max(0.0, float(value))


def _resamples(rows: int) -> list[NDArray[np.intp]]:
    generator = np.random.Generator(np.random.PCG64(SEED))
    return [generator.integers(0, rows, rows) for _ in range(RESAMPLES)]


def _classes(predicted: Predicted, name: str) -> NDArray[np.int64]:
    if predicted.classes is None:
        raise ConfigError(
            f"metric {name!r} compares classes, and no output names any; give an integer label of shape [-1] with "
            "labels, or scores [-1, classes], or use mean_absolute_error"
        )
    return predicted.classes
