"""The strongest burst of a series, and made-up ones."""

import numpy as np
import pytest

from benchmarks.promise.cases.bursts import LEAST_SECONDS, made_up_excerpt, rise_s, scaled, strongest_excerpt
from catalog.errors import ConfigError
from forecast.series.series import LoadSeries

LENGTH = 20


def even(count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return 100.0 + np.random.default_rng(3).uniform(-5.0, 5.0, count)


def burst_at(loads_qps: np.ndarray[tuple[int], np.dtype[np.float64]], second: int, factor: float) -> None:
    loads_qps[second : second + 10] *= factor


def test_the_strongest_of_two_bursts_is_taken_with_calm_before_it() -> None:
    loads_qps = even(1000)
    burst_at(loads_qps, 300, 3.0)
    burst_at(loads_qps, 700, 5.0)
    excerpt = strongest_excerpt(LoadSeries.regular(loads_qps), LENGTH)
    assert len(excerpt) == LENGTH
    assert excerpt.max() > 450.0
    assert excerpt[: LENGTH // 3].max() < 110.0


def test_it_is_the_best_of_all_windows_by_brute_force() -> None:
    loads_qps = np.random.default_rng(5).gamma(2.0, 100.0, 300)
    excerpt = strongest_excerpt(LoadSeries.regular(loads_qps), LENGTH)

    def ratio(window: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        peaks = [window[at : at + 3].mean() for at in range(LENGTH // 3, 3 * LENGTH // 4 - 2)]
        return max(peaks) / window[: LENGTH // 3].mean() if max(peaks) >= 2 * np.median(loads_qps) else 0.0

    windows = [loads_qps[at : at + LENGTH] for at in range(len(loads_qps) - LENGTH + 1)]
    assert ratio(excerpt) == pytest.approx(max(map(ratio, windows)))


def test_neither_an_outage_nor_a_gap_is_a_burst() -> None:
    loads_qps = even(1000)
    loads_qps[395:400] = 1.0  # the load comes back
    burst_at(loads_qps, 700, 3.0)
    times_s = np.arange(1000)
    times_s[900:] += 3600
    loads_qps[903:913] *= 9.0  # its first third was not recorded
    excerpt = strongest_excerpt(LoadSeries(times_s, loads_qps), LENGTH)
    assert 250.0 < excerpt.max() < 330.0


def test_a_load_that_is_high_for_most_of_the_time_has_bursts() -> None:
    loads_qps = even(600)
    for minute in range(10):
        loads_qps[60 * minute + 20 : 60 * minute + 60] *= 3.0
    excerpt = strongest_excerpt(LoadSeries.regular(loads_qps), LENGTH)
    assert excerpt[: LENGTH // 3].mean() == pytest.approx(100.0, abs=5.0)
    assert excerpt.max() > 280.0


def test_a_load_that_was_away_for_a_moment_has_none() -> None:
    loads_qps = even(600)
    loads_qps[100:108] = 1.0
    with pytest.raises(ConfigError, match="no 20 s in a row"):
        strongest_excerpt(LoadSeries.regular(loads_qps), LENGTH)


@pytest.mark.parametrize(
    ("series", "seconds"),
    [
        (LoadSeries.regular(even(LENGTH - 1)), LENGTH),
        (LoadSeries.regular(even(100), step_s=60), LENGTH),
        (LoadSeries.regular(even(100)), LEAST_SECONDS - 1),
        (LoadSeries.regular(even(100)), LENGTH),
    ],
    ids=["too short", "minutes", "too short an excerpt", "no burst"],
)
def test_a_series_without_a_burst_is_refused(series: LoadSeries, seconds: int) -> None:
    with pytest.raises(ConfigError):
        strongest_excerpt(series, seconds)


def test_the_peak_is_the_load_asked_for_and_the_rest_in_proportion() -> None:
    excerpt = np.array([1.0, 2.0, 4.0, 3.0])
    assert [step.rate_qps for step in scaled(excerpt, 800.0).steps] == [200.0, 400.0, 800.0, 600.0]
    assert scaled(excerpt, 800.0).length_s == 4.0


def test_a_made_up_burst_is_the_same_for_the_same_seed_and_rises_to_several_times_its_start() -> None:
    excerpt = made_up_excerpt(LENGTH, 1)
    assert excerpt.tolist() == made_up_excerpt(LENGTH, 1).tolist() != made_up_excerpt(LENGTH, 2).tolist()
    assert excerpt[-5:].mean() > 4 * excerpt[:8].mean()
    assert 6.0 <= rise_s(excerpt) <= 12.0


def test_a_burst_begins_where_the_load_rises_most() -> None:
    assert rise_s(np.array([1.0, 1.0, 1.0, 1.0, 2.0, 5.0, 9.0, 9.0, 9.0])) == 3.0
