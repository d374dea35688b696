import numpy as np
import pytest

from serve_app.loadgen.lag import Lag


def test_a_punctual_generator_gives_no_warning() -> None:
    lag = Lag.of(np.full(100, 2.0), slo_ms=100.0)
    assert lag.warning is None
    assert not lag.fell_behind


@pytest.mark.parametrize(("slo_ms", "limit_ms"), [(None, 10.0), (400.0, 10.0), (50.0, 5.0)])
def test_the_limit_is_ten_milliseconds_or_a_tenth_of_the_objective(slo_ms: float | None, limit_ms: float) -> None:
    assert Lag.of(np.full(100, limit_ms + 0.1), slo_ms).fell_behind
    assert not Lag.of(np.full(100, limit_ms - 0.1), slo_ms).fell_behind


def test_the_warning_gives_numbers_and_a_remedy() -> None:
    warning = Lag.of(np.array([20.0] * 99 + [70.0]), slo_ms=100.0).warning
    assert warning is not None
    assert "worst 70.0 ms, limit 10 ms" in warning
    assert "lower the rate" in warning


def test_no_query_means_no_lag() -> None:
    assert Lag.of(np.array([]), None) == Lag(0.0, 0.0, 10.0)
