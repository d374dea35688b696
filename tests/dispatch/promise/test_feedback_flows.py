"""What the feedback of last resort hears of queries of several jobs: each query once, when it is answered."""

import pytest

from dispatch.dispatcher import Dispatcher
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import Plan
from dispatch.promise.feedback import SlackFeedback
from dispatch.worker_info import WorkerInfo
from ensemble_scene import EVERYONE, SaidChooser, say
from ensemble_scene import ask as ask_members
from ensemble_scene import flow as vote
from ensemble_scene import plan as vote_plan
from pipeline_scene import SLO_S, ask, done, parts, sequence
from pipeline_scene import plan as pipeline_plan

Heard = list[tuple[int, int]]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """Queries and late ones, call by call."""
    found: Heard = []

    def noted(
        self: SlackFeedback, queries: int, late: int, promised_rate: float, arrived_s: float, now_s: float
    ) -> None:
        assert promised_rate == pytest.approx(0.01)
        found.append((queries, late))

    monkeypatch.setattr(SlackFeedback, "on_batch", noted)
    return found


def learning(plan: Plan) -> Dispatcher:
    """A worker for each of three stages or members."""
    made = Dispatcher(plan, LatencyEstimator(0.001))
    for worker in ("a", "b", "c"):
        made.on_worker_ready(worker, WorkerInfo("cpu"), [worker], 0.0)
    return made


@pytest.mark.parametrize("late", [0, 1])
def test_a_query_of_a_pipeline_counts_once_at_its_end(heard: Heard, late: int) -> None:
    d = learning(pipeline_plan(sequence()))
    ask(d)
    done(d, "a", 0.01)
    done(d, "b", 0.02)
    assert heard == []
    done(d, "c", 0.03 + late * SLO_S)
    assert heard == [(1, late)]


def test_a_query_that_is_given_up_between_two_stages_was_late(heard: Heard) -> None:
    d = learning(pipeline_plan(sequence(), drop_late=True))
    ask(d)
    done(d, "a", 0.01)
    done(d, "b", SLO_S + 0.01)
    assert heard == [(1, 1)]


def test_however_many_jobs_a_query_makes(heard: Heard) -> None:
    d = learning(pipeline_plan(parts()))
    ask(d, 7, 0.0, [4])
    at_s = 0.0
    while not heard and at_s < 0.09:
        at_s += 0.005
        for worker in ("a", "b", "c"):
            if d.workers[worker].batch is not None:
                done(d, worker, at_s)
    assert heard == [(1, 0)]


def test_a_member_that_answers_when_the_vote_is_over_is_no_late_query(heard: Heard) -> None:
    d = learning(vote_plan(vote(SaidChooser(EVERYONE))))
    ask_members(d)
    say(d, "a", 0.01, 1)
    say(d, "b", 0.02, 1)
    say(d, "c", 0.5, 1)
    assert heard == [(1, 0)]
