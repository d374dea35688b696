"""Streaming quantiles and means, against numpy on the same values."""

import numpy as np
import pytest

from dispatch.latency.decayed_histogram import BINS_PER_OCTAVE, OCTAVES, DecayedHistogram
from dispatch.latency.decayed_mean import DecayedMean

ONE_BIN = 2.0 ** (1.0 / BINS_PER_OCTAVE)


def lasting(least: float = 1e-5) -> DecayedHistogram:
    """Nothing ages."""
    return DecayedHistogram(half_life_s=1e9, half_life_count=1e9, least=least)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.97, 0.99])
def test_quantiles_are_those_of_the_values_to_within_a_bin(share: float) -> None:
    values = np.random.default_rng(1).lognormal(-4.0, 0.8, 5000)
    histogram = lasting()
    for value in values.tolist():
        histogram.add(value, 0.0)
    assert 1 / ONE_BIN < histogram.quantile(share) / np.quantile(values, share) < ONE_BIN
    assert histogram.mean == pytest.approx(values.mean())
    assert histogram.evidence == pytest.approx(5000)


def test_within_a_bin_values_count_as_even() -> None:
    histogram = lasting(least=1.0)
    for _ in range(100):
        histogram.add(1.0, 0.0)
    assert histogram.quantile(0.5) == pytest.approx(2.0 ** (0.5 / BINS_PER_OCTAVE))


def test_without_values_everything_is_nought_and_out_of_range_is_the_nearest() -> None:
    histogram = lasting(least=1.0)
    assert (histogram.quantile(0.5), histogram.mean, histogram.evidence) == (0.0, 0.0, 0.0)
    histogram.add(1e-9, 0.0)
    assert histogram.quantile(1.0) <= ONE_BIN
    histogram.add(1e30, 0.0)
    assert histogram.quantile(1.0) == pytest.approx(2.0**OCTAVES)


def test_weights_halve_with_time_where_values_are_many() -> None:
    histogram = DecayedHistogram(half_life_s=2.0, half_life_count=1.0, least=1e-3)
    for now_s in (0.0, 1.0, 3.0):
        histogram.add(1.0, now_s)
    assert histogram.evidence == pytest.approx(1.0 + 0.5 + 0.5**1.5)


def test_weights_halve_with_their_number_where_values_are_few() -> None:
    histogram = DecayedHistogram(half_life_s=1e-3, half_life_count=4.0, least=1e-3)
    for now_s in range(200):
        histogram.add(1.0 + now_s % 2, 60.0 * now_s)
    assert histogram.evidence == pytest.approx(1.0 / (1.0 - 0.5**0.25))


def test_weights_and_mean_survive_so_many_half_lives_that_they_are_scaled_back() -> None:
    histogram = DecayedHistogram(half_life_s=1.0, half_life_count=1.0, least=1e-3)
    values = np.random.default_rng(2).uniform(1.0, 3.0, 2000)
    for number, value in enumerate(values.tolist()):
        histogram.add(value, 1.0 * number)
    weights = 0.5 ** np.arange(1999, -1, -1.0)
    assert histogram.mean == pytest.approx(np.average(values, weights=weights))
    assert histogram.evidence == pytest.approx(2.0)


def test_a_decayed_mean_is_the_weighted_mean_of_prior_and_values() -> None:
    mean = DecayedMean(half_life_s=2.0, half_life_count=1.0, prior=5.0, prior_count=3.0)
    instants_s, values = [1.0, 1.5, 3.0], [1.0, 2.0, 4.0]
    for value, now_s in zip(values, instants_s, strict=True):
        mean.add(value, now_s)
    weights = [3.0 * 0.5**1.5, *(0.5 ** ((3.0 - now_s) / 2.0) for now_s in instants_s)]
    assert mean.value == pytest.approx(np.average([5.0, *values], weights=weights))
    assert mean.count == pytest.approx(sum(weights))


def test_a_decayed_mean_of_rare_values_rests_on_the_last_ones_however_old() -> None:
    mean = DecayedMean(half_life_s=0.1, half_life_count=8.0, prior=0.0, prior_count=4.0)
    for number in range(300):
        mean.add(7.0, 1000.0 * number)
    assert mean.value == pytest.approx(7.0)
    assert mean.count == pytest.approx(1.0 / (1.0 - 0.5**0.125))
