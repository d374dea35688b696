import numpy as np

from forecast.series.series import LoadSeries
from forecast.training.features import CLOCK, LOADS, Features
from forecast.training.task import ForecastTask

TASK = ForecastTask(context_s=60, window_s=20, block_s=10, memory_s=3600)


def surging(days: float = 0.25) -> LoadSeries:
    at_s = np.arange(int(days * 86_400))
    rate = np.where(at_s % 5400 < 300, 200.0, 40.0)
    return LoadSeries.regular(np.random.default_rng(2).poisson(rate).astype(float))


def test_features_at_an_origin_know_nothing_of_what_comes_after() -> None:
    series, at = surging(), np.array([5500, 9000, 16_000])
    features = Features.of(series, TASK)
    seen = features.view(series).at(at)
    for place, origin in enumerate(at):
        changed = series.loads_qps.copy()
        changed[origin:] = 999.0
        other = features.view(LoadSeries.regular(changed)).at(at[place : place + 1])
        np.testing.assert_array_equal(other[0], seen[place])


def test_features_need_no_more_history_than_they_say() -> None:
    series = surging()
    features = Features.of(series, TASK)
    for origin in (5500, 7000, 9100, 16_000):
        known = series.slice(origin - features.reach_s, origin)
        np.testing.assert_allclose(
            features.view(known).at(np.array([len(known)])), features.view(series).at(np.array([origin])), rtol=1e-6
        )


def test_a_forgotten_surge_is_as_none_and_one_that_is_remembered_has_its_age() -> None:
    series = surging()
    features = Features.of(series, TASK)
    ages_h = features.view(series).at(np.array([5400 + 300 + 600, 5400 + 5000]))[:, LOADS + CLOCK + 2]
    np.testing.assert_allclose(ages_h, [600 / 3600, 1.0], atol=0.004)


def test_the_clock_is_that_of_the_window_and_the_same_every_day() -> None:
    series = LoadSeries.regular(np.full(3000, 5.0), start_s=86_400 * 400)
    later = LoadSeries.regular(np.full(3000, 5.0), start_s=86_400 * 411)
    features = Features.of(series, TASK)
    at = np.array([100, 1900])
    np.testing.assert_allclose(features.view(series).at(at), features.view(later).at(at), atol=1e-5)
