"""Falls of a share: found soon where there are any, and hardly ever where there are none."""

import numpy as np
import pytest

from dispatch.shadow.drift import FallDetector


def run_length(floor: float, share: float, seed: int, most: int) -> int | None:
    """Observations until a fall is found, None where none is."""
    detector, generator = FallDetector(floor), np.random.default_rng(seed)
    successes = generator.random(most) < share
    return next((index for index, each in enumerate(successes.tolist(), start=1) if detector.observe(each)), None)


@pytest.mark.parametrize(
    ("floor", "share", "within"), [(0.9, 0.1, 12), (0.7, 0.1, 25), (0.9, 0.5, 40), (0.9, 0.8, 400)]
)
def test_a_fall_is_found_the_sooner_the_deeper_it_is(floor: float, share: float, within: int) -> None:
    lengths = [run_length(floor, share, seed, 4000) for seed in range(40)]
    assert all(length is not None for length in lengths)
    assert float(np.median([length for length in lengths if length is not None])) <= within


@pytest.mark.parametrize("share", [0.9, 0.95, 1.0])
def test_no_false_alarm_while_the_share_is_what_it_is_held_to(share: float) -> None:
    assert [run_length(0.9, share, seed, 10_000) for seed in range(10)] == [None] * 10


@pytest.mark.parametrize("before", [[], [False], [True, False, False, True]])
def test_at_the_floor_the_statistic_grows_by_one_on_average_which_bounds_false_alarms(before: list[bool]) -> None:
    floor = 0.8

    def statistic(*observations: bool) -> float:
        detector = FallDetector(floor)
        for each in observations:
            detector.observe(each)
        return detector.statistic

    expected = floor * statistic(*before, True) + (1.0 - floor) * statistic(*before, False)
    assert expected == pytest.approx(statistic(*before) + 1.0)


def test_what_came_before_the_fall_is_told_from_what_came_after() -> None:
    detector = FallDetector(0.9)
    observations = [True] * 200 + [False] * 30
    found = next(index for index, observed in enumerate(observations, start=1) if detector.observe(observed))
    assert found < 210
    assert detector.since(observations[:found]) == found - 200


def test_a_share_that_may_be_anything_never_falls_and_one_that_must_be_all_survives_a_failure() -> None:
    assert not any(FallDetector(0.0).observe(False) for _ in range(3))
    detector = FallDetector(1.0)
    assert not detector.observe(False)
