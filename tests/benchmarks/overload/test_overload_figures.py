"""What is made of the queries of a load."""

import numpy as np
import pytest

from benchmarks.overload.best_load import START_QPS, STEP_S, find_best
from benchmarks.overload.figures import figures, recovered_s
from benchmarks.overload.goals import goals_of
from benchmarks.overload.sent import Sent

SLO_S = 0.1


def sent(intended_s: list[float], latency_s: list[float], status: list[int]) -> Sent:
    begun = np.array(intended_s)
    return Sent(begun, begun + 0.001, begun + np.array(latency_s), np.array(status, dtype=np.int16), 0.5, 3)


def test_late_answers_and_those_given_up_count_as_accepted_and_refusals_do_not() -> None:
    statuses = [200, 200, 429, 0, 504]
    found = figures(sent([0, 0.1, 0.2, 0.3, 0.4], [0.05, 0.5, 0.01, np.nan, 0.1], statuses), SLO_S, duration_s=2.0)
    assert found["offered_qps"] == 2.5
    assert found["accepted_qps"] == 1.5
    assert found["goodput_qps"] == 0.5
    assert found["accepted_in_time_pct"] == pytest.approx(100 / 3)
    assert found["refused_ms"]["p99"] == pytest.approx(10.0)
    assert found["answers"] == {"none": 1, "200": 2, "429": 1, "504": 1}


def test_what_a_client_sends_when_the_load_is_over_was_not_offered() -> None:
    due = np.arange(1000) / 100.0
    done, status = 5 * due + 0.01, np.full(1000, 200, dtype=np.int16)
    slow = figures(Sent(due, 5 * due, done, status, 0.5, 3), SLO_S, duration_s=10.0)
    assert slow["offered_qps"] == pytest.approx(21.0, abs=0.2), "the fifth that left in time, and a moment more"
    never = figures(Sent(due, np.full(1000, np.nan), done, status, 0.5, 3), SLO_S, duration_s=10.0)
    assert never["offered_qps"] == 0.0
    a_little_late = figures(Sent(due, due + 0.2, due + 0.3, status, 0.5, 3), SLO_S, duration_s=10.0)
    assert a_little_late["offered_qps"] == 100.0


def test_goodput_is_told_for_every_five_seconds() -> None:
    intended = [0.0, 4.9, 5.0, 9.0, 11.0]
    found = figures(sent(intended, [0.05, 0.05, 0.05, 0.5, 0.05], [200] * 5), SLO_S, duration_s=12.0)
    assert found["goodput_qps_by_5_s"] == [0.4, 0.2], "of whole bins"


@pytest.mark.parametrize(
    ("bad_seconds", "recovered"),
    [([], 0.0), ([0, 1], 2.0), ([0, 3], 4.0), ([9], None), ([4, 9], None), ([5, 6, 7, 8, 9], None)],
    ids=["at once", "2", "4", "a tenth is bad", "never five", "five and then no more"],
)
def test_service_is_normal_from_the_first_of_five_normal_seconds_on(
    bad_seconds: list[int], recovered: float | None
) -> None:
    intended = [second + part / 10 for second in range(10) for part in range(10)]
    latency = [0.5 if int(at) in bad_seconds else 0.01 for at in intended]
    load = sent(intended, latency, [200] * 100)
    assert recovered_s(load, SLO_S, 10.0) == recovered
    assert figures(load, SLO_S, 10.0)["seconds_below_95_pct"] == bad_seconds


def test_one_bad_second_long_after_is_not_of_what_was_before() -> None:
    intended = [second + part / 10 for second in range(30) for part in range(10)]
    latency = [0.5 if int(at) in (0, 20) else 0.01 for at in intended]
    assert recovered_s(sent(intended, latency, [200] * 300), SLO_S, 30.0) == 1.0


@pytest.mark.parametrize("capacity_qps", [100.0, 450.0, 3000.0])
def test_the_best_load_is_what_a_service_carries_that_collapses_beyond_it(capacity_qps: float) -> None:
    def goodput_qps(load_qps: float, duration_s: float) -> float:
        return load_qps if load_qps <= capacity_qps else 0.3 * capacity_qps

    assert 0.75 * capacity_qps <= find_best(goodput_qps).goodput_qps <= capacity_qps


def test_what_counts_is_the_best_load_when_it_lasts() -> None:
    def goodput_qps(load_qps: float, duration_s: float) -> float:
        return min(load_qps, 120.0 if duration_s == STEP_S else 100.0)

    load_qps, good_qps = find_best(goodput_qps)
    assert good_qps == 100.0
    assert goodput_qps(load_qps, STEP_S) == pytest.approx(120.0, rel=0.2)


def test_a_service_without_capacity_ends_the_search() -> None:
    loads: list[float] = []

    def goodput_qps(load_qps: float, duration_s: float) -> float:
        loads.append(load_qps)
        return 0.0

    assert find_best(goodput_qps).goodput_qps == 0.0
    assert loads[0] == START_QPS
    assert len(loads) == 2


def scene(**changes: object) -> dict[str, object]:
    load = {
        "offered_qps": 500.0,
        "accepted_in_time_pct": 99.0,
        "goodput_qps": 95.0,
        "refused_ms": {"p99": 12.0},
        "answers": {"200": 100, "429": 400},
    }
    return {
        "best_qps": 100.0,
        "best_again_qps": 100.0,
        "overload": load | changes,
        "memory_mb": {"before": {"router": 200.0}, "highest": {"router": 210.0}},
        "recovered_s": 1.0,
        "half": {"lost_points": 0.0},
    }


def test_a_service_that_keeps_everything_meets_all_goals() -> None:
    assert all(goals_of(scene()).values())


def test_what_a_service_carries_is_the_mean_of_before_and_afterwards() -> None:
    goal = "goodput is 90% of the best"
    assert goals_of(scene(goodput_qps=82.0) | {"best_again_qps": 80.0})[goal]
    assert not goals_of(scene(goodput_qps=80.0) | {"best_again_qps": 80.0})[goal]


def test_clients_that_leave_may_cost_the_others_two_points_in_the_median() -> None:
    goal = "clients that leave cost the others nothing"
    assert goals_of(scene() | {"half": {"lost_points": 1.9}})[goal]
    assert not goals_of(scene() | {"half": {"lost_points": 2.1}})[goal]


@pytest.mark.parametrize(
    "change",
    [
        {"offered_qps": 300.0},
        {"accepted_in_time_pct": 90.0},
        {"accepted_in_time_pct": None},
        {"goodput_qps": 80.0},
        {"refused_ms": {"p99": 70.0}},
        {"refused_ms": None},
        {"answers": {"200": 100, "500": 1}},
        {"answers": {"200": 100, "none": 1}},
    ],
    ids=str,
)
def test_each_goal_can_be_missed(change: dict[str, object]) -> None:
    assert not all(goals_of(scene(**change)).values())
