"""What comes of queries, and which were answered before all had voted."""

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.cocktail.load import MEAN_QPS, WARM_S, part_of, spot_prices
from benchmarks.cocktail.member_sets import at_once
from benchmarks.cocktail.models import ASKS, MODELS
from benchmarks.cocktail.systems import ENDPOINT, SLO_S, NotingFlow, System, flow_of
from benchmarks.cocktail.votes.class_accuracy import synthetic_class_accuracy
from benchmarks.cocktail.votes.drawn_votes import draw_votes
from benchmarks.cocktail.votes.truths import Truths
from benchmarks.cocktail.workload import Workload, workload_of
from dispatch.commands import Answer, BatchDone, Outcome
from dispatch.ensemble.weights import ClassWeights
from dispatch.query import Batch, Job, Query, StageKey
from forecast.series.series import LoadSeries

VOTES = draw_votes(synthetic_class_accuracy({m.name: m.accuracy for m in MODELS.values()}, 20, 0), 3000, seed=0)
WEIGHTS = ClassWeights.learned(VOTES.take(np.arange(2000)))
THREE = ("InceptionV3", "ResNet50V2", "Xception")
DUE_S = 0.95 * SLO_S


@pytest.fixture(scope="module")
def workload() -> Workload:
    part = part_of(LoadSeries.regular(np.full(2 * WARM_S, MEAN_QPS)), WARM_S, 10)
    return workload_of(part, "strict", VOTES.take(np.arange(2000, 3000)), spot_prices(None, 0), 0.0, 0)


class Played:
    """One query of a system that asks these members."""

    def __init__(self, workload: Workload, members: Sequence[str]) -> None:
        sets = {ask.accuracy: [at_once(members, 0.82)] for ask in ASKS}
        self.flow: NotingFlow = flow_of(System("any", sets), WEIGHTS)
        self.truths = Truths(workload, self.flow.chooser, WEIGHTS, self.flow.asked)
        first, others = self.flow.start(Query(0, ENDPOINT, 0.0, SLO_S, accuracy=ASKS[0].accuracy), 0.0)
        self._jobs = {job.stage: job for job in (first, *others)}

    def votes(self, member: str, at_s: float) -> bool:
        """Whether the query is answered by this vote."""
        job: Job = self._jobs[member]
        batch = Batch(job.id, "w", StageKey(ENDPOINT, member), member, 0.8, (job,), 1, 0.0)
        return self._hear(self.flow.on_done(BatchDone(batch, self.truths.outputs(batch), 0.1, at_s)).outcomes)

    def is_due(self) -> bool:
        """Whether the query is answered when its time is up."""
        return self._hear(self.flow.on_due(self.flow.due_s).outcomes)

    def _hear(self, outcomes: Sequence[Outcome]) -> bool:
        for answer in outcomes:
            assert isinstance(answer, Answer)
            self.truths.on_answer(answer)
        return bool(outcomes)

    @property
    def cut_short(self) -> bool:
        return bool(self.truths.cut_short[0])


def test_a_query_whose_members_all_vote_in_time_is_not_cut_short(workload: Workload) -> None:
    played = Played(workload, THREE)
    for member in THREE:
        played.votes(member, 0.2)
    assert not played.flow.open_queries
    assert not played.cut_short
    assert played.truths.members[0] >= 2


def test_one_that_some_had_not_voted_on_when_its_time_was_up_is(workload: Workload) -> None:
    played = Played(workload, THREE)
    assert not played.votes(THREE[0], 0.2)
    assert played.is_due()
    assert played.cut_short


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.5])
def test_so_is_one_that_the_first_vote_answers_once_its_time_was_up(workload: Workload, after_s: float) -> None:
    played = Played(workload, THREE)
    assert not played.is_due()
    assert played.votes(THREE[1], DUE_S + after_s)
    assert played.truths.members[0] == 1
    assert played.cut_short


@pytest.mark.parametrize("at_s", [0.2, DUE_S, DUE_S + 0.01])
def test_the_only_member_is_all_that_is_wanted_however_late(workload: Workload, at_s: float) -> None:
    played = Played(workload, THREE[:1])
    if at_s >= DUE_S:
        assert not played.is_due()
    assert played.votes(THREE[0], at_s)
    assert not played.cut_short
