"""How far a pool is from its profiles, by its workers: against harmonic means, and what becomes of workers that go."""

import json

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.demand.profile_drift import BIN_COUNT, ProfileDrift, bin_of
from autoscaler.demand.worker_drift import ENOUGH, WorkerDrift
from autoscaler_scene import SEEDS

SLOW = ("cpu", "slow")
WITHIN_A_BIN = 2 ** (1 / 8) - 1
STEADY = 0.15
"""Of a bin, and what factors do not follow."""


def counts_of(ratio: float, batches: int = 1000) -> list[int]:
    counts = [0] * BIN_COUNT
    counts[bin_of(ratio)] = batches
    return counts


def drift_of(**ratios: float) -> WorkerDrift:
    drift = WorkerDrift()
    for worker, ratio in ratios.items():
        drift.on_counts(SLOW, worker, counts_of(ratio), 0.0)
    return drift


def test_one_slow_worker_of_six_takes_from_its_pool_what_it_does_less() -> None:
    ratios = {f"w{number}": 1.0 for number in range(5)} | {"hot": 3.0}
    drift = drift_of(**ratios)
    assert drift.factor(SLOW, 0.0) == pytest.approx(6 / (5 + 1 / 3), rel=WITHIN_A_BIN)
    assert drift.of_workers(SLOW, 0.0)["hot"] == pytest.approx(3.0, rel=WITHIN_A_BIN)
    all_together = ProfileDrift()
    for ratio in ratios.values():
        all_together.on_counts("pool", counts_of(ratio), 0.0)
    assert all_together.factor("pool", 0.0) > 2.5, "as slow as that one, by the 95th percentile of all batches"


@settings(max_examples=60, derandomize=True)
@given(SEEDS)
def test_it_lies_between_the_fastest_and_the_slowest_worker_and_with_one_is_its_own(rng: np.random.Generator) -> None:
    ratios = {f"w{number}": float(rng.uniform(0.6, 3.5)) for number in range(rng.integers(1, 8))}
    drift = drift_of(**ratios)
    own = drift.of_workers(SLOW, 0.0)
    assert own.keys() == ratios.keys()
    assert 0.85 * min(own.values()) <= drift.factor(SLOW, 0.0) <= 1.15 * max(own.values())
    alone = ProfileDrift()
    alone.on_counts("w0", counts_of(ratios["w0"]), 0.0)
    assert drift_of(w0=ratios["w0"]).factor(SLOW, 0.0) == pytest.approx(alone.factor("w0", 0.0))


def test_few_batches_correct_little() -> None:
    drift = WorkerDrift()
    assert (drift.factor(SLOW, 0.0), drift.evidence(SLOW, 0.0), drift.of_workers(SLOW, 0.0)) == (1.0, 0.0, {})
    drift.on_counts(SLOW, "w1", counts_of(4.0, batches=5), 0.0)
    assert ENOUGH > 5
    assert drift.of_workers(SLOW, 0.0) == {}
    assert 1.1 < drift.factor(SLOW, 0.0) < 1.5
    assert drift.of_worker(SLOW, "w1", 0.0) == drift.factor(SLOW, 0.0)


@pytest.mark.parametrize(
    ("well", "hot", "at_most"),
    [(9, 11, 1.15), (200, 260, 1.3), (2000, 11, 1.2), (2000, 1, 1.1)],
    ids=["few of each", "some of each", "a new worker", "its first batch"],
)
def test_however_much_is_known_of_whom_one_slow_worker_does_not_decide(well: int, hot: int, at_most: float) -> None:
    drift = WorkerDrift()
    for number in range(5):
        drift.on_counts(SLOW, f"w{number}", counts_of(1.0, well), 0.0)
    drift.on_counts(SLOW, "hot", counts_of(3.0, hot), 0.0)
    for minute in range(15):
        assert 0.9 <= drift.factor(SLOW, 60.0 * minute) <= at_most, "while it is forgotten as well"


def test_a_worker_that_gets_well_again_is_well_after_some_half_lives() -> None:
    drift = drift_of(w1=1.0, w2=3.0)
    assert drift.factor(SLOW, 0.0) > 1.3
    for second in range(600):
        for worker in ("w1", "w2"):
            drift.on_counts(SLOW, worker, counts_of(1.0, batches=20), float(second))
    assert drift.factor(SLOW, 600.0) == pytest.approx(1.0, rel=WITHIN_A_BIN)


def test_what_a_worker_taught_stays_with_its_pool_until_another_teaches_better() -> None:
    drift = drift_of(w1=2.0)
    drift.on_worker("w1", False, 1.0)
    drift.on_worker("w1", False, 1.0)
    assert drift.of_workers(SLOW, 1.0) == {}
    assert drift.factor(SLOW, 1.0) == pytest.approx(2.0, rel=WITHIN_A_BIN), "the pool begins anew with it"
    drift.on_counts(SLOW, "w2", counts_of(8.0, 1), 2.0)
    assert drift.factor(SLOW, 2.0) == pytest.approx(2.0, rel=WITHIN_A_BIN), "one batch tells next to nothing"
    drift.on_counts(SLOW, "w2", counts_of(1.0), 3.0)
    assert drift.factor(SLOW, 3.0) == pytest.approx(1.0, rel=STEADY)


def test_what_is_told_late_of_a_worker_that_went_is_of_those_that_are_gone() -> None:
    drift = drift_of(w1=1.0)
    drift.on_worker("w2", False, 1.0)
    drift.on_counts(SLOW, "w2", counts_of(3.0), 2.0)
    assert drift.of_workers(SLOW, 2.0).keys() == {"w1"}
    assert drift.factor(SLOW, 2.0) == pytest.approx(1.0, rel=WITHIN_A_BIN)
    drift.on_worker("w2", True, 3.0)
    drift.on_counts(SLOW, "w2", counts_of(3.0), 3.0)
    assert drift.of_workers(SLOW, 3.0).keys() == {"w1", "w2"}, "it is there again"


def test_after_a_restart_workers_that_are_not_there_any_more_are_gone() -> None:
    drift = WorkerDrift.from_record(drift_of(w1=3.0, w2=3.0, w3=1.0).to_record(0.0), 0.0)
    drift.keep({"w3", "w4"}, 0.0)
    assert drift.of_workers(SLOW, 0.0).keys() == {"w3"}
    drift.on_counts(SLOW, "w4", counts_of(1.0), 1.0)
    assert drift.factor(SLOW, 1.0) == pytest.approx(1.0, rel=WITHIN_A_BIN)


def test_a_record_has_all_of_it_and_forgets_workers_that_did_nothing_for_long() -> None:
    drift = drift_of(w1=2.0, w2=1.0)
    before = drift.factor(SLOW, 0.0)
    again = WorkerDrift.from_record(json.loads(json.dumps(drift.to_record(0.0))), 0.0)
    assert again.factor(SLOW, 0.0) == before
    assert again.of_workers(SLOW, 0.0) == drift.of_workers(SLOW, 0.0)
    drift.on_counts(SLOW, "w2", counts_of(1.0), 3600.0)
    assert [each["key"] for each in drift.to_record(3600.0)["keys"]] == [[*SLOW, "w2"]]


def test_records_of_pools_alone_are_read() -> None:
    """As versions before kept them."""
    before = ProfileDrift()
    before.on_counts(SLOW, counts_of(2.0), 0.0)
    factor = before.factor(SLOW, 0.0)
    drift = WorkerDrift.from_record(before.to_record(0.0), 5.0)
    assert drift.factor(SLOW, 5.0) == pytest.approx(factor)
    drift.on_counts(SLOW, "w1", counts_of(1.0), 6.0)
    assert drift.factor(SLOW, 6.0) == pytest.approx(1.0, rel=STEADY)


def test_counts_of_other_bins_are_refused() -> None:
    with pytest.raises(ValueError, match="3 bins"):
        WorkerDrift().on_counts(SLOW, "w1", [1, 2, 3], 0.0)
