"""Answers of an ensemble and what labels say of them afterwards."""

import numpy as np
import pytest

from catalog.errors import BadRequest
from deployments.router.feedback.labels import Labels
from dispatch.commands import Answer
from dispatch.dispatcher import Dispatcher
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.ground_truth import Told
from dispatch.flow.ensemble import EnsembleFlow
from ensemble_scene import CLASSES, SaidChooser, answered, ask, flow, one_wave, say, scene


class TruthChooser(SaidChooser):
    """Keeps what it is told of truths."""

    def __init__(self) -> None:
        super().__init__(one_wave("a", "b", "c"))
        self.truths: list[tuple[int, int, dict[str, int]]] = []

    def on_truth(self, constraint, truth, winner, votes) -> None:  # type: ignore[no-untyped-def]
        assert constraint == self.asked[-1][0], "as the members were chosen"
        self.truths.append((truth, winner, dict(votes)))


def labels() -> tuple[Dispatcher, EnsembleFlow, TruthChooser, Labels]:
    chooser = TruthChooser()
    made = flow(chooser)
    d = scene(made)
    return d, made, chooser, Labels(d.plan.endpoints, {"e": Ballots(CLASSES)})


def an_answer(d: Dispatcher, *rows: int) -> Answer:
    """``a`` and ``b`` agree on each row."""
    ask(d, rows=len(rows))
    say(d, "a", 0.01, rows)
    (answer,) = answered(say(d, "b", 0.02, rows))
    return answer


def test_a_label_teaches_weights_and_tells_the_chooser_row_by_row() -> None:
    d, ensemble, chooser, known = labels()
    before = ensemble.weights.matrix.copy()
    known.remember("e", "request", an_answer(d, 1, 2))
    assert known.tell("e", [("request", (1, 0))], 0.5) == [Told.MATCHED]
    assert chooser.truths == [(1, 1, {"a": 1, "b": 1}), (0, 2, {"a": 2, "b": 2})]
    assert ensemble.weights.counts.seen.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert ensemble.weights.matrix[1, 0] > before[1, 0] > ensemble.weights.matrix[2, 0]
    assert np.array_equal(ensemble.weights.matrix[:2, 2], before[:2, 2]), "c did not vote"
    assert known.tell("e", [("request", (1, 0)), ("other", (1,))], 0.6) == [Told.DUPLICATE, Told.UNKNOWN]


def test_labels_that_cannot_be_are_refused_in_words() -> None:
    d, _, _, known = labels()
    known.remember("e", "request", an_answer(d, 1, 2))
    for classes, message in (((1,), "1 labels for 2 rows"), ((1, 9), "among 3 classes")):
        with pytest.raises(BadRequest, match=message):
            known.tell("e", [("request", classes)], 0.5)
    with pytest.raises(BadRequest, match="name no class"):
        known.tell("unknown", [("request", (1,))], 0.5)


def test_an_answer_that_names_no_class_is_not_remembered() -> None:
    d, _, _, known = labels()
    answer = an_answer(d, 1)
    for outputs in ({}, {"label": np.array([CLASSES])}, {"label": np.array([0, 1])}, {"label": np.array([0.5])}):
        known.remember("e", "request", answer._replace(outputs=outputs))
        assert known.tell("e", [("request", (1,))], 0.5) == [Told.UNKNOWN]
