"""The latency curve is exact where measured and never falls with the batch size."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import ConfigError
from catalog.profiles.profile import QUANTITIES, BatchLatency, LatencyProfile

_MS = st.floats(0.001, 1e4)
_PROFILES = st.dictionaries(st.integers(1, 128), _MS, min_size=1, max_size=8)


def profile_of(p95_ms: dict[int, float]) -> LatencyProfile:
    """A profile whose every quantity is ``p95_ms`` of the batch size."""
    return LatencyProfile("cpu", {size: BatchLatency(10, ms, 0.0, ms, ms, ms, ms) for size, ms in p95_ms.items()})


@given(_PROFILES, st.sampled_from(QUANTITIES))
def test_latency_never_falls_as_the_batch_grows(p95_ms: dict[int, float], quantity: str) -> None:
    profile = profile_of(p95_ms)
    curve = [profile.latency_ms(size, quantity) for size in range(1, 200)]
    assert all(low <= high for low, high in pairwise(curve))


@given(_PROFILES)
def test_a_measured_size_is_at_its_value_unless_a_larger_batch_took_less(p95_ms: dict[int, float]) -> None:
    profile = profile_of(p95_ms)
    for size in p95_ms:
        expected = min(ms for other, ms in p95_ms.items() if other >= size)
        assert profile.latency_ms(size) == expected


@given(_PROFILES, st.integers(1, 200))
def test_an_unmeasured_size_lies_between_its_neighbours(p95_ms: dict[int, float], size: int) -> None:
    profile = profile_of(p95_ms)
    below = [profile.latency_ms(other) for other in p95_ms if other <= size]
    above = [profile.latency_ms(other) for other in p95_ms if other >= size]
    assert max(below, default=0.0) <= profile.latency_ms(size) <= min(above, default=np.inf)


def test_an_outlier_at_a_small_batch_does_not_reach_the_larger_ones() -> None:
    profile = profile_of({1: 3.0, 2: 900.0, 3: 7.0, 4: 9.0})
    assert [profile.latency_ms(size) for size in (1, 2, 3, 4)] == [3.0, 7.0, 7.0, 9.0]


def test_sizes_beyond_the_measured_ones_follow_the_line() -> None:
    assert profile_of({1: 3.0, 2: 5.0, 4: 9.0}).latency_ms(10) == pytest.approx(21.0)


def test_one_measured_size_is_taken_as_proportional_to_the_batch() -> None:
    assert profile_of({2: 4.0}).latency_ms(6) == pytest.approx(12.0)


def test_the_95th_percentile_is_given_in_seconds() -> None:
    assert profile_of({1: 250.0}).p95_s(1) == pytest.approx(0.25)


def test_a_batch_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="batch size 0; ask for at least 1"):
        profile_of({1: 1.0}).latency_ms(0)


def test_a_profile_without_sizes_is_refused_naming_the_device() -> None:
    with pytest.raises(ConfigError, match="'cpu' holds no batch size"):
        LatencyProfile("cpu", {})


def test_a_profile_of_batch_size_zero_is_refused() -> None:
    with pytest.raises(ConfigError, match="batch size 0"):
        profile_of({0: 1.0})


def test_measured_runs_are_summarised_in_milliseconds() -> None:
    latency = BatchLatency.of(np.arange(1, 102) / 1e3)
    assert latency.samples == 101
    assert (latency.mean_ms, latency.p50_ms) == pytest.approx((51.0, 51.0))
    assert (latency.p90_ms, latency.p95_ms, latency.p99_ms) == pytest.approx((91.0, 96.0, 100.0))
