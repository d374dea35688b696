"""Arrival distributions against scipy and against simulation."""

import numpy as np
import pytest
from scipy import stats

from dispatch.selection.ramsis.arrivals import ArrivalDistribution, NegativeBinomial, Poisson
from ramsis_scene import arrival_times_s

INTERVALS_S = np.array([0.0, 0.001, 0.05, 0.4])


def test_poisson_counts_agree_with_scipy() -> None:
    expected = stats.poisson.pmf(np.arange(61)[None, :], 100.0 * INTERVALS_S[:, None])
    np.testing.assert_allclose(Poisson(100.0).count_pmf(60, INTERVALS_S), expected, atol=1e-14)


def test_negative_binomial_counts_agree_with_scipy() -> None:
    expected = stats.nbinom.pmf(np.arange(61)[None, :], 100.0 * INTERVALS_S[1:, None] / 2.0, 1 / 3.0)
    pmf = NegativeBinomial(100.0, 3.0).count_pmf(60, INTERVALS_S)
    np.testing.assert_allclose(pmf[1:], expected, atol=1e-13)
    assert pmf[0, 0] == 1.0
    assert pmf[0, 1:].sum() == 0.0


@pytest.mark.parametrize("arrivals", [Poisson(80.0), NegativeBinomial(80.0, 4.0)], ids=["poisson", "bursty"])
def test_counts_of_simulated_arrivals_follow_the_distribution(arrivals: ArrivalDistribution) -> None:
    times_s = arrival_times_s(arrivals, 200_000, seed=7)
    counts = np.bincount((times_s / 0.05).astype(int))[:-1]
    expected = arrivals.count_pmf(30, np.array([0.05]))[0]
    observed = np.bincount(counts, minlength=31)[:31] / len(counts)
    error = np.sqrt(expected * (1 - expected) / len(counts))
    assert np.all(np.abs(observed - expected) < 5 * error + 1e-9)


@pytest.mark.parametrize("arrivals", [Poisson(80.0), NegativeBinomial(80.0, 4.0)], ids=["poisson", "bursty"])
def test_increments_are_independent(arrivals: ArrivalDistribution) -> None:
    parts = arrivals.count_pmf(200, np.array([0.02, 0.03, 0.05]))
    np.testing.assert_allclose(np.convolve(parts[0], parts[1])[:201], parts[2], atol=1e-12)


def test_bursts_of_the_negative_binomial_are_logarithmic() -> None:
    pmf = NegativeBinomial(80.0, 4.0).together_pmf(400)
    np.testing.assert_allclose(pmf[1:], stats.logser.pmf(np.arange(1, 401), 0.75), atol=1e-14)
    assert pmf[0] == 0.0


def test_another_rate_keeps_the_pattern() -> None:
    assert NegativeBinomial(80.0, 4.0).at_rate(10.0) == NegativeBinomial(10.0, 4.0)
    assert Poisson(80.0).at_rate(10.0) == Poisson(10.0)


def test_a_dispersion_of_one_or_less_is_refused() -> None:
    with pytest.raises(ValueError, match=r"dispersion 1\.0; give a variance-to-mean ratio above 1"):
        NegativeBinomial(10.0, 1.0)
