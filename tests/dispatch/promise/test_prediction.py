"""Bounds for the seconds to come, by hand and by how often they hold."""

from math import sqrt

import numpy as np
import pytest

from dispatch.promise.prediction import (
    CHANCE,
    CONFIDENCE,
    SPREADS,
    Prediction,
    Second,
    accuracy_bound,
    violation_bound,
)


def second(queries: int, violations: int = 0, accuracy: float = 0.9, together: int = 1) -> Second:
    in_time = queries - violations
    return Second(violations, in_time, in_time * accuracy, violations * together)


def test_where_nothing_is_late_what_is_promised_is_the_bound_and_what_chance_may_do_beyond() -> None:
    calm = [second(1000)] * 10
    chance = CHANCE * sqrt(0.01 * 0.99 / 10_000)
    assert violation_bound(calm, 0.01) == pytest.approx(0.01 + chance)
    assert accuracy_bound(calm) == pytest.approx(0.9)


def test_seconds_that_differ_leave_room_for_what_they_differ_by() -> None:
    uneven = [second(1000, 20), second(1000, 60), second(1000, 20), second(1000, 60)]
    spread = 0.02 * sqrt(4 / 3)
    bound = violation_bound(uneven, 0.01)
    assert bound == pytest.approx(0.04 + SPREADS * spread + CHANCE * sqrt(0.04 * 0.96 / 4000))
    accurate = [second(100, accuracy=0.9), second(300, accuracy=0.94), second(100, accuracy=0.9)]
    spread = sqrt((0.4 * 0.024**2 + 0.6 * 0.016**2) * 3 / 2)
    assert accuracy_bound(accurate) == pytest.approx(0.924 - SPREADS * spread)


def test_queries_that_are_late_together_tell_less() -> None:
    alone, together = ([second(100, 5, together=size)] * 5 for size in (1, 5))
    far, near = violation_bound(together, 0.01), violation_bound(alone, 0.01)
    assert far is not None
    assert near is not None
    assert far - 0.05 == pytest.approx(sqrt(5) * (near - 0.05))


def test_nothing_is_said_from_less_than_three_seconds_with_queries() -> None:
    assert violation_bound([second(10), second(0), second(10)], 0.01) is None
    assert accuracy_bound([second(10), second(10, 10), second(10)]) is None
    assert violation_bound([second(10, 10)] * 3, 0.01) == 1.0
    assert accuracy_bound([second(10, 10)] * 10) is None
    assert accuracy_bound([Second(0, 1, 0.0, 0), Second(0, 1, 1.0, 0), Second(0, 1, 0.0, 0)]) == 0.0


@pytest.mark.parametrize("slow_share", [0.0, 0.05, 0.3])
def test_bounds_hold_in_nineteen_of_twenty_windows_whatever_the_seconds_are_like(slow_share: float) -> None:
    """Slow spells of two seconds on average, in which up to a tenth is late and accuracy is lower."""
    rng = np.random.default_rng(7)
    seconds, slow = [], False
    for _ in range(12_000):
        slow = rng.random() < (0.5 if slow else 0.5 * slow_share / (1.0 - slow_share))
        queries = int(rng.poisson(500))
        late = int(rng.binomial(queries, 0.1 * rng.random() if slow else 0.002))
        seconds.append(second(queries, late, 0.9 - 0.05 * rng.random() * slow))
    prediction, rate_right, accuracy_right = Prediction(10), [], []
    for number, each in enumerate(seconds[:-10], start=1):
        prediction.on_second(each, 0.01)
        if number < 600:
            continue
        to_come = seconds[number : number + 10]
        most, least = prediction.violation_rate, prediction.accuracy
        assert most is not None
        assert least is not None
        rate_right.append(sum(e.violations for e in to_come) / sum(e.queries for e in to_come) <= most)
        accuracy_right.append(sum(e.accuracy for e in to_come) / sum(e.in_time for e in to_come) >= least - 1e-9)
    for right in (rate_right, accuracy_right):
        assert np.mean(right) >= CONFIDENCE - 0.02


def test_bounds_that_were_wrong_make_later_ones_wider_though_the_load_was_another() -> None:
    def after(violations: int, queries: int) -> float:
        prediction = Prediction(10)
        for _ in range(20):
            prediction.on_second(second(1000), 0.01)
        for _ in range(10):
            prediction.on_second(second(queries, violations), 0.01)
        for _ in range(10):
            prediction.on_second(second(queries), 0.01)
        rate = prediction.violation_rate
        assert rate is not None
        return rate

    assert after(200, 1000) > after(0, 1000) + 0.1
    assert after(1000, 5000) > after(0, 5000) + 0.1


def test_a_load_that_jumps_now_and_then_is_reckoned_with_where_it_does_so_often() -> None:
    """Ten seconds at a load at which accuracy is lower, as often as not or once in five minutes."""

    def right_share(calm_s: int) -> tuple[float, float]:
        seconds = ([second(100, accuracy=0.95)] * calm_s + [second(1000, 5, accuracy=0.9)] * 10) * (3000 // calm_s)
        prediction, right, least = Prediction(10), [], []
        for number, each in enumerate(seconds[:-10], start=1):
            prediction.on_second(each, 0.01)
            to_come = seconds[number : number + 10]
            if number > 600 and (told := prediction.accuracy) is not None:
                right.append(sum(e.accuracy for e in to_come) / sum(e.in_time for e in to_come) >= told - 1e-9)
                least.append(told)
        return float(np.mean(right)), float(np.median(least))

    often, seldom = right_share(10), right_share(300)
    assert often[0] >= CONFIDENCE
    assert seldom[0] >= CONFIDENCE
    assert often[1] < 0.91
    assert seldom[1] == pytest.approx(0.95), "what is rare is one of the twentieth"


def test_a_service_without_queries_says_nothing_and_goes_on_afterwards() -> None:
    prediction = Prediction(10)
    assert (prediction.violation_rate, prediction.accuracy) == (None, None)
    for _ in range(30):
        prediction.on_second(second(0), 0.01)
    assert (prediction.violation_rate, prediction.accuracy) == (None, None)
    for _ in range(3):
        prediction.on_second(second(500), 0.01)
    assert prediction.accuracy == pytest.approx(0.9)
