"""Answers of an ensemble and what labels say of them afterwards."""

from typing import Any

import numpy as np
import pytest

from catalog.errors import BadRequest, ConstraintUnmet
from deployments.messages.learned import LearnedVotes
from deployments.router.feedback.labels import Labels
from deployments.state.learned_weights import LearnedWeights
from dispatch.commands import Answer
from dispatch.dispatcher import Dispatcher
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.ground_truth import WINDOW_S, Told
from dispatch.ensemble.weights import VoteCounts
from dispatch.flow.ensemble import EnsembleFlow
from dispatch.plan import EndpointPlan, StagePlan
from dispatch.query import Query
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from ensemble_scene import CLASSES, SaidChooser, answered, ask, flow, one_wave, plan, say, scene


class TruthChooser(SaidChooser):
    """Is told of truths with the constraint that members were chosen for."""

    def on_truth(self, constraint, truth, winner, votes) -> None:  # type: ignore[no-untyped-def]
        assert constraint == self.asked[-1][0]
        super().on_truth(constraint, truth, winner, votes)


def labels() -> tuple[Dispatcher, EnsembleFlow, TruthChooser, Labels]:
    chooser = TruthChooser(one_wave("a", "b", "c"))
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
    known.remember("e", "request", an_answer(d, 1, 2), 0.02)
    assert known.tell("e", [("request", (1, 0))], 0.5) == [Told.MATCHED]
    assert chooser.truths == [(1, 1, {"a": 1, "b": 1}), (0, 2, {"a": 2, "b": 2})]
    assert ensemble.weights.counts.seen.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert ensemble.weights.matrix[1, 0] > before[1, 0] > ensemble.weights.matrix[2, 0]
    assert np.array_equal(ensemble.weights.matrix[:, 0], ensemble.weights.matrix[:, 1]), "a and b said the same"
    assert known.tell("e", [("request", (1, 0)), ("other", (1,))], 0.6) == [Told.DUPLICATE, Told.UNKNOWN]


def test_truths_count_for_the_constraint_that_was_met_where_more_was_asked_for() -> None:
    chooser = TruthChooser(one_wave("a", "b", "c"))
    chooser.raises = {0.99: ConstraintUnmet("at most 0.9 is possible")}
    d = scene(flow(chooser, accuracy=0.99, best_effort=True))
    known = Labels(d.plan.endpoints, {"e": Ballots(CLASSES)})
    known.remember("e", "request", an_answer(d, 1, 2), 0.02)
    assert chooser.asked[-1][0].accuracy is None
    assert known.tell("e", [("request", (1, 0))], 0.5) == [Told.MATCHED]
    assert len(chooser.truths) == 2


def test_labels_that_cannot_be_are_refused_in_words() -> None:
    d, _, _, known = labels()
    known.remember("e", "request", an_answer(d, 1, 2), 0.02)
    for classes, message in (((1,), "1 labels for 2 rows"), ((1, 9), "among 3 classes")):
        with pytest.raises(BadRequest, match=message):
            known.tell("e", [("request", classes)], 0.5)
    with pytest.raises(BadRequest, match="name no class"):
        known.tell("unknown", [("request", (1,))], 0.5)


def test_an_answer_that_names_no_class_is_not_remembered() -> None:
    d, _, _, known = labels()
    answer = an_answer(d, 1)
    for outputs in ({}, {"label": np.array([CLASSES])}, {"label": np.array([0, 1])}, {"label": np.array([0.5])}):
        known.remember("e", "request", answer._replace(outputs=outputs), 0.02)
        assert known.tell("e", [("request", (1,))], 0.5) == [Told.UNKNOWN]


def test_of_labels_of_which_one_cannot_be_none_counts() -> None:
    d, ensemble, chooser, known = labels()
    known.remember("e", "good", an_answer(d, 1, 2), 0.02)
    before = ensemble.weights.counts
    for bad in (("good", (1,)), ("never", (CLASSES,))):
        with pytest.raises(BadRequest, match=f"feedback for id '{bad[0]}'"):
            known.tell("e", [("good", (1, 2)), bad], 0.5)
    assert ensemble.weights.counts is before
    assert chooser.truths == []
    assert known.tell("e", [("good", (1, 2)), ("good", (1, 2))], 0.5) == [Told.MATCHED, Told.DUPLICATE]


def test_labels_are_waited_for_from_when_the_answer_went_out_here() -> None:
    """An answer that another machine's router gave has that machine's instants."""
    d, _, _, known = labels()
    elsewhere = an_answer(d, 1)._replace(done_s=1e9)
    known.remember("e", "first", elsewhere, 0.02)
    known.remember("e", "second", elsewhere, 5.0)
    assert known.tell("e", [("first", (1,)), ("second", (1,))], WINDOW_S + 1.0) == [Told.EXPIRED, Told.MATCHED]


def test_what_was_learned_changes_the_next_vote() -> None:
    """Two members who agree win, until labels say that the third one alone is right."""
    d, _, _, known = labels()

    def answer() -> Answer:
        ask(d)
        commands = [
            command for member, said in (("a", 1), ("b", 1), ("c", 2)) for command in say(d, member, 0.01, said)
        ]
        (found,) = answered(commands)
        return found

    for number in range(12):
        before = answer()
        known.remember("e", f"r{number}", before._replace(votes={"a": [1], "b": [1], "c": [2]}), 0.02)
        known.tell("e", [(f"r{number}", (2,))], 0.03)
        if number == 0:
            assert before.outputs["label"].tolist() == [1]
    assert answer().outputs["label"].tolist() == [2]


def single() -> Labels:
    """An endpoint that one variant at a time answers, of two."""
    offered = tuple(Candidate(name, 0.8, (0.0, 0.01)) for name in ("fast", "best"))
    stage = StagePlan({"cpu": offered, "cuda": offered[:1]}, GreedySelection(), None)
    return Labels({"e": EndpointPlan.of_stage("e", stage, slo_s=0.1, max_queued_rows=9)}, {"e": Ballots(CLASSES)})


def of_variant(variant: str, *classes: int) -> Answer:
    return Answer(Query(1, "e", 0.0, 1.0, len(classes)), variant, 0.8, {"label": np.array(classes)}, 1, 0.0, 0.1, 0.1)


def test_an_endpoint_without_an_ensemble_counts_what_its_variants_said() -> None:
    known = single()
    known.remember("e", "x", of_variant("best", 1, 0), 0.1)
    known.remember("e", "y", of_variant("fast", 2), 0.1)
    known.remember("e", "z", of_variant("newcomer", 2), 0.1)
    assert known.tell("e", [("x", (1, 1)), ("y", (2,)), ("z", (2,))], 0.2) == [Told.MATCHED] * 3
    status = known.status("e")
    assert status is not None
    assert (status["labelled"], status["right"]) == (4, 3)
    counts = {member: (seen["labelled"], seen["right"]) for member, seen in status["members"].items()}
    assert counts == {"fast": (1, 1), "best": (2, 1), "newcomer": (1, 1)}, "one that came later is counted as well"
    assert known.learned() == {}, "there are no weights to share"
    known.learn({"e": LearnedVotes.of(("fast", "best"), VoteCounts.none(CLASSES, 2))})


def test_an_ensemble_has_the_members_that_it_was_built_with() -> None:
    d, _, _, known = labels()
    known.remember("e", "x", an_answer(d, 1)._replace(votes={"a": [1], "newcomer": [1]}), 0.02)
    assert known.tell("e", [("x", (1,))], 0.5) == [Told.MATCHED]
    status = known.status("e")
    assert status is not None
    assert {member: each["labelled"] for member, each in status["members"].items()} == {"a": 1, "b": 0, "c": 0}


def test_the_status_counts_labels_and_agreement_by_member() -> None:
    d, _, _, known = labels()
    known.remember("e", "x", an_answer(d, 1, 2), 0.02)
    assert known.status("unknown") is None
    quiet: dict[str, Any] = {"labelled": 0, "right": 0, "answered": 0, "agreed": 0}
    agreed = {**quiet, "answered": 2, "agreed": 2}
    assert known.status("e") == {"labelled": 0, "right": 0, "members": {"a": agreed, "b": agreed, "c": quiet}}
    known.tell("e", [("x", (1, 0))], 0.5)
    told = {**agreed, "labelled": 2, "right": 1}
    assert known.status("e") == {"labelled": 2, "right": 1, "members": {"a": told, "b": told, "c": quiet}}


def test_weights_rest_on_what_was_built_in_on_labels_here_and_on_those_of_others() -> None:
    d, ensemble, _, known = labels()
    built = VoteCounts(*(np.full((CLASSES, 3), number) for number in (5.0, 3.0, 5.0)))
    ensemble.weights.put(built)
    known = Labels(d.plan.endpoints, {"e": Ballots(CLASSES)})
    assert known.learned() == {}, "what it was built with is every router's"
    known.remember("e", "x", an_answer(d, 1), 0.02)
    known.tell("e", [("x", (1,))], 0.5)
    (own,) = known.learned().values()
    assert own.counts(("a", "b", "c"), CLASSES).seen.tolist() == [[0, 0, 0], [1, 1, 0], [0, 0, 0]]
    others = VoteCounts(*(np.full((CLASSES, 3), number) for number in (20.0, 10.0, 20.0)))
    for _ in range(2):
        known.learn({"e": LearnedVotes.of(("a", "b", "c"), others), "gone": LearnedVotes({})})
        assert ensemble.weights.counts.seen.tolist() == [[25, 25, 25], [26, 26, 25], [25, 25, 25]], "not twice"
    known.learn({})
    assert ensemble.weights.counts.seen[0, 0] == 25, "nothing is unlearned where a controller has lost it"
    assert known.learned()["e"].by_member["a"].sum() == own.by_member["a"].sum(), "what others said is not passed on"


def test_an_endpoint_that_names_no_class_remembers_nothing() -> None:
    made = flow(one_wave("a"))
    known = Labels(plan(made).endpoints, {})
    known.remember("e", "x", of_variant("a", 1), 0.0)
    assert known.status("e") is None


def test_a_model_trained_anew_under_its_name_inherits_no_labels() -> None:
    d, _, _, _ = labels()
    before = Labels(d.plan.endpoints, {"e": Ballots(CLASSES)}, {"e": {"a": "a 1", "b": "b 1"}})
    before.remember("e", "x", an_answer(d, 1), 0.02)
    before.tell("e", [("x", (1,))], 0.5)
    d, ensemble, _, _ = labels()
    after = Labels(d.plan.endpoints, {"e": Ballots(CLASSES)}, {"e": {"a": "a 2", "b": "b 1"}})
    after.learn(before.learned())
    assert ensemble.weights.counts.seen[1].tolist() == [0, 1, 0]


def test_labels_for_another_number_of_classes_do_not_keep_routers_from_sharing() -> None:
    d, ensemble, _, known = labels()
    weights = LearnedWeights()
    old = VoteCounts(*(np.full((CLASSES + 1, 3), 9.0) for _ in range(3)))
    new = VoteCounts(*(np.full((CLASSES, 3), 2.0) for _ in range(3)))
    weights.exchange("gone", {"e": LearnedVotes.of(("a 1", "b 1", "c 1"), old)})
    weights.exchange("other", {"e": LearnedVotes.of(("a 2", "b 2", "c 2"), new)})
    known = Labels(d.plan.endpoints, {"e": Ballots(CLASSES)}, {"e": {"a": "a 2", "b": "b 2", "c": "c 2"}})
    known.learn(weights.exchange("here", {}))
    assert ensemble.weights.counts.seen[0].tolist() == [2, 2, 2]
