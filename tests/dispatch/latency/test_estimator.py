"""Each worker is known for itself; what is new starts from what is known of the others."""

import pytest

from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.estimator import (
    DEADBAND,
    PRIOR_PATH_TAIL,
    PRIOR_RUN_TAIL,
    RENEW_EVERY_S,
    LatencyEstimator,
)
from dispatch.selection.policy import Candidate

VARIANT = Candidate("v", 0.9, (0.0, 0.020, 0.030), mean_s=(0.0, 0.020, 0.030), path_s=0.0)


def run(
    estimator: LatencyEstimator, worker: str, factor: float, path_s: float, batches: int = 200, from_s: float = 0.0
) -> list[LatencyEstimate]:
    """Batches of one row, ten a second; gives what was given out."""
    given = []
    for number in range(batches):
        run_s = 0.020 * factor
        estimate = estimator.on_batch(worker, VARIANT, 1, run_s, run_s + path_s, 10.0, from_s + 0.1 * (number + 1))
        if estimate is not None:
            given.append(estimate)
    return given


def test_before_anything_is_measured_the_way_given_holds_and_the_profile() -> None:
    prior = LatencyEstimator(0.010).typical()
    assert (prior.run_factor, prior.run_tail, prior.path_s, prior.path_tail_s) == (
        1.0,
        PRIOR_RUN_TAIL,
        0.010,
        0.010 * PRIOR_PATH_TAIL,
    )


def test_a_worker_that_is_slow_alone_is_known_as_such() -> None:
    estimator = LatencyEstimator(0.010)
    for worker, factor in (("a", 1.0), ("b", 2.0), ("c", 1.1)):
        run(estimator, worker, factor, 0.005)
    factors = [estimator.estimate(worker).run_factor for worker in "abc"]
    assert factors == pytest.approx([1.0, 2.0, 1.1], rel=2 * DEADBAND)


def test_a_new_worker_starts_from_the_median_of_the_others() -> None:
    estimator = LatencyEstimator(0.010)
    for worker, factor, path_s in (("a", 1.0, 0.003), ("b", 3.0, 0.004), ("c", 1.5, 0.020)):
        run(estimator, worker, factor, path_s)
    new = estimator.estimate("new")
    assert new.run_factor == estimator.estimate("c").run_factor
    assert new.path_s == estimator.estimate("b").path_s
    assert new is estimator.typical()
    first = estimator.on_batch("new", VARIANT, 1, 0.030, 0.034, 10.0, 100.0)
    assert first is not None
    assert first.run_factor == pytest.approx(1.5, rel=0.1)


def test_a_worker_just_as_the_others_is_known_by_its_own_measurements() -> None:
    estimator = LatencyEstimator(0.010)
    run(estimator, "a", 1.5, 0.004)
    assert run(estimator, "b", 1.5, 0.004)
    assert estimator.estimate("b").run_factors.keys() == {VARIANT.variant}


def test_estimates_are_given_out_when_something_differs_and_not_too_often() -> None:
    estimator = LatencyEstimator(0.010)
    run(estimator, "a", 1.0, 0.005, batches=2000)
    assert run(estimator, "a", 1.0, 0.005, batches=100, from_s=200.0) == []
    assert run(estimator, "a", 1.0 + DEADBAND / 3, 0.005, batches=100, from_s=210.0) == []
    given = run(estimator, "a", 2.0, 0.005, batches=100, from_s=220.0)
    assert given[-1].run_factor == pytest.approx(2.0, rel=2 * DEADBAND)
    at_once = [
        estimator.on_batch("a", VARIANT, 1, 0.2 + 0.1 * number, 0.4, 10.0, 240.0 + RENEW_EVERY_S / 2 * number / 10)
        for number in range(10)
    ]
    assert sum(estimate is not None for estimate in at_once) == 1


def test_a_worker_that_is_gone_is_forgotten() -> None:
    estimator = LatencyEstimator(0.010)
    run(estimator, "a", 2.0, 0.005)
    run(estimator, "b", 1.0, 0.005)
    estimator.forget("a")
    assert estimator.estimate("a") is estimator.typical()
    assert estimator.typical().run_factor == estimator.estimate("b").run_factor
    estimator.forget("never known")


def test_a_clock_that_says_less_than_the_run_took_gives_no_negative_way() -> None:
    estimator = LatencyEstimator(0.010)
    for number in range(100):
        estimator.on_batch("a", VARIANT, 1, 0.020, 0.019, 10.0, 0.1 * number)
    assert 0.0 <= estimator.estimate("a").path_s < 0.001


def test_a_worker_not_measured_yet_starts_with_the_slowdown_that_is_predicted_of_it() -> None:
    estimator = LatencyEstimator(0.010)
    assert estimator.predict({"a": {"v": 1.5, "w": 2.5}}) == {"a"}
    estimate = estimator.estimate("a")
    assert (estimate.run_factor, estimate.run_factors) == (2.0, {"v": 1.5, "w": 2.5})
    assert estimate.path_s == 0.010, "the way is no run"
    run_s = 1.5 * 0.020
    assert estimate.corrected(VARIANT).mean_s[1] == pytest.approx(run_s + estimate.gap_s(run_s))
    assert estimator.estimate("alone").run_factor == 1.0
    assert estimator.typical().run_factor == 2.0, "nobody else is known"


def test_a_new_worker_starts_from_the_others_alone_and_its_own_prediction() -> None:
    estimator = LatencyEstimator(0.010)
    estimator.predict({"a": {"v": 2.0}, "new": {"v": 1.5}})
    run(estimator, "a", 3.0, 0.005)  # half again as slow as predicted
    assert estimator.estimate("a").run_factor == pytest.approx(3.0, rel=2 * DEADBAND)
    assert estimator.estimate("new").run_factor == pytest.approx(1.5 * 1.5, rel=2 * DEADBAND)
    assert estimator.estimate("alone").run_factor == pytest.approx(1.5, rel=2 * DEADBAND)


def test_what_is_measured_is_scaled_at_once_when_another_slowdown_is_predicted() -> None:
    estimator = LatencyEstimator(0.010)
    estimator.predict({"a": {"v": 1.2}})
    run(estimator, "a", 1.8, 0.005)
    before = estimator.estimate("a")
    assert estimator.predict({"a": {"v": 2.4}, "b": {"v": 1.0}}) == {"a", "b"}
    after = estimator.estimate("a")
    assert after.run_factor == pytest.approx(2 * before.run_factor)
    assert after.run_factors["v"] == pytest.approx(2 * before.run_factors["v"])
    assert after.path_s == before.path_s
    run(estimator, "a", 2.4, 0.005, from_s=100.0)
    assert estimator.estimate("a").run_factor == pytest.approx(2.4, rel=2 * DEADBAND), "the measurement goes on"
    assert estimator.predict({}) == {"a", "b"}
    assert estimator.estimate("a").run_factor == pytest.approx(1.0, rel=2 * DEADBAND)


def test_without_predictions_estimates_are_what_they_were() -> None:
    plain, told = LatencyEstimator(0.010), LatencyEstimator(0.010)
    told.predict({})
    for number, factor in enumerate((1.0, 2.0, 1.4)):
        run(plain, f"w{number}", factor, 0.004)
        run(told, f"w{number}", factor, 0.004)
        assert told.estimate(f"w{number}") is told.estimate(f"w{number}")
        assert vars(told.estimate(f"w{number}")) == vars(plain.estimate(f"w{number}"))
    assert vars(told.typical()) == vars(plain.typical())
