"""The quadratic through measured batch sizes: exact where there is one, never negative, never falling."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import ConfigError
from catalog.profiles.latency_fit import fit_latency
from catalog.profiles.profile import BatchLatency, LatencyProfile

SIZES = (1, 2, 4, 8, 16, 32, 64)
_SECONDS = st.floats(1e-4, 10.0)
_MEASURED = st.dictionaries(st.sampled_from(SIZES), _SECONDS, min_size=1, max_size=7)


def test_a_quadratic_is_found_again() -> None:
    fit = fit_latency({rows: 0.002 * rows**2 + 0.03 * rows + 0.05 for rows in SIZES})
    assert (fit.alpha, fit.beta, fit.gamma) == pytest.approx((0.002, 0.03, 0.05))
    assert fit.error == pytest.approx(0.0, abs=1e-9)
    assert fit.latency_s(5) == pytest.approx(0.002 * 25 + 0.15 + 0.05)


def test_without_constraints_that_bind_it_is_the_plain_least_squares_fit() -> None:
    measured_s = {rows: 0.05 + 0.03 * rows + 0.001 * rows**2 + 0.01 * (-1) ** n for n, rows in enumerate(SIZES)}
    fit = fit_latency(measured_s)
    assert (fit.alpha, fit.beta, fit.gamma) == pytest.approx(tuple(np.polyfit(SIZES, list(measured_s.values()), 2)))
    off = [abs(fit.latency_s(rows) - seconds) / seconds for rows, seconds in measured_s.items()]
    assert fit.error == pytest.approx(max(off))


def test_what_grows_ever_more_slowly_is_fitted_up_to_the_largest_size_and_a_line_beyond() -> None:
    fit = fit_latency({rows: 1.0 - (1 - rows / 64) ** 2 + 0.1 for rows in SIZES})
    assert fit.alpha < 0
    assert fit.latency_s(64) == pytest.approx(1.1)
    assert fit.latency_s(200) == pytest.approx(1.1, abs=1e-6)


def test_what_falls_is_fitted_by_its_mean() -> None:
    fit = fit_latency({1: 3.0, 2: 2.0, 4: 1.0})
    assert (fit.alpha, fit.beta, fit.gamma) == pytest.approx((0.0, 0.0, 2.0))
    assert fit.error == pytest.approx(1.0)


@given(_MEASURED)
def test_it_is_never_negative_and_never_falls(measured_s: dict[int, float]) -> None:
    fit = fit_latency(measured_s)
    curve = [fit.latency_s(rows) for rows in range(1, 130)]
    assert curve[0] > 0
    assert all(low <= high + 1e-9 * max(curve) for low, high in pairwise(curve))


@given(_MEASURED, st.tuples(*[st.floats(0.0, 0.05)] * 3))
def test_no_other_such_quadratic_is_nearer(measured_s: dict[int, float], other: tuple[float, float, float]) -> None:
    fit, (alpha, beta, gamma) = fit_latency(measured_s), other
    alpha = alpha if len(measured_s) >= 3 else 0.0  # through fewer sizes it is a line
    ours = sum((fit.latency_s(rows) - seconds) ** 2 for rows, seconds in measured_s.items())
    theirs = sum((alpha * rows**2 + beta * rows + gamma - s) ** 2 for rows, s in measured_s.items())
    assert ours <= theirs * (1 + 1e-9) + 1e-12


def test_through_two_sizes_it_is_a_line() -> None:
    fit = fit_latency({1: 0.1, 8: 0.45})
    assert (fit.alpha, fit.beta, fit.gamma) == pytest.approx((0.0, 0.05, 0.05))


@pytest.mark.parametrize("rows", [1, 8, 64])
def test_through_one_size_it_is_a_line_from_the_origin_as_in_a_profile(rows: int) -> None:
    fit = fit_latency({rows: 0.02})
    profile = LatencyProfile("cpu", {rows: BatchLatency(1, 20.0, 0.0, 20.0, 20.0, 20.0, 20.0)})
    assert [fit.latency_s(each) for each in SIZES] == pytest.approx([profile.mean_s(each) for each in SIZES])
    assert (fit.largest_batch, fit.error) == (rows, 0.0)


@pytest.mark.parametrize(
    "measured_s", [{4: 0.01, 8: 0.03}, {4: 0.01, 8: 0.03, 16: 0.08}, {1: 0.001, 32: 4.0, 64: 20.0}]
)
def test_one_row_takes_some_time_however_steep_the_rest_is(measured_s: dict[int, float]) -> None:
    fit = fit_latency(measured_s)
    assert fit.latency_s(1) >= fit.latency_s(fit.largest_batch) / fit.largest_batch**2 * (1 - 1e-9) > 0


@pytest.mark.parametrize("measured_s", [{}, {0: 1.0}, {1: 0.0}, {1: float("nan")}])
def test_what_is_no_measurement_is_refused(measured_s: dict[int, float]) -> None:
    with pytest.raises(ConfigError, match=r"measure at least one|sizes start at 1, times are above 0"):
        fit_latency(measured_s)
    with pytest.raises(ValueError, match="at least 1"):
        fit_latency({1: 1.0}).latency_s(0)
