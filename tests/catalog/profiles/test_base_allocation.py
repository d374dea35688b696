"""The least cores that satisfy equation 1, on latencies like those of the paper's tables 2 to 4."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from catalog.errors import ConfigError
from catalog.profiles.base_allocation import CoreLatencies, base_allocations, least_cores
from catalog.profiles.latency_fit import fit_latency

TABLE_2_MS = {"ResNet18": {1: 75, 4: 23, 8: 14}, "ResNet50": {1: 135, 4: 57, 8: 32}}


def by_rows(first_s: float, growth: float = 0.65) -> Callable[[int], float]:
    return fit_latency({rows: first_s * (1 + growth * (rows - 1)) for rows in (1, 8)}).latency_s


def over_cores(one_core_s: float, exponent: float = 0.75, most: int = 32) -> CoreLatencies:
    """Halved 0.75 times with every doubling of the cores, up to 32 as in Table 4."""
    return {cores: by_rows(one_core_s / cores**exponent) for cores in (1, 2, 4, 8, 16, 32) if cores <= most}


def test_the_two_marked_configurations_of_table_2_serve_20_requests_in_75_ms() -> None:
    variants = {name: {cores: by_rows(ms / 1e3, 1.0) for cores, ms in own.items()} for name, own in TABLE_2_MS.items()}
    found = base_allocations(variants, 13, [1], slo_s=0.075)
    assert {name: each.cores for name, each in found.variants.items()} == {"ResNet18": 1, "ResNet50": 4}
    assert found.variants["ResNet50"].capacity_qps == pytest.approx(1 / 0.057)


def test_more_is_asked_of_more_cores_as_in_table_4() -> None:
    one_core_s = {"n": 0.08, "s": 0.23, "m": 0.55, "l": 1.0, "x": 1.65}
    columns = []
    for threshold_qps in (5, 10, 15):
        own = [least_cores(over_cores(seconds), threshold_qps, (1, 2, 4, 8), 5.0) for seconds in one_core_s.values()]
        columns.append(["x" if isinstance(each, str) else each.cores for each in own])
    assert columns[0] == [1, 1, 4, 8, 16]
    assert columns[2][-1] == "x"
    for low, high in pairwise(columns):
        assert all(b == "x" or (a != "x" and a <= b) for a, b in zip(low, high, strict=True))


def test_the_constraint_that_fails_is_named_with_how_much_is_missing() -> None:
    slow = {"v": {1: by_rows(1.0, 1.0), 2: by_rows(0.5, 1.0)}}
    with pytest.raises(
        ConfigError, match=r"1 of 1 variants\. v: with 2 cores it serves 2 queries/s, 3 less .* 5 \(1b\)"
    ):
        base_allocations(slow, 5, (1, 2), slo_s=10.0)
    with pytest.raises(
        ConfigError, match=r"with 2 cores a batch of 8 takes 4 s, 1 more than the 3 s of the task \(1c\)"
    ):
        base_allocations(slow, 2, (1, 8), slo_s=3.0)


def test_the_task_s_latency_and_the_cores_agree_and_no_fewer_do() -> None:
    variants = {name: over_cores(seconds) for name, seconds in {"a": 0.2, "b": 0.6, "c": 1.4}.items()}
    found = base_allocations(variants, 0.5, (1, 2, 4))
    first_s = [each.first_s for each in found.variants.values()]
    assert found.slo_s == pytest.approx(5 * sum(first_s) / 3)
    assert {name: each.cores for name, each in found.variants.items()} == {"a": 1, "b": 1, "c": 2}
    assert base_allocations(variants, 0.5, (1, 2, 4), found.slo_s) == found
    fewer = {name: {c: own[c] for c in own if c <= found.variants[name].cores} for name, own in variants.items()}
    assert base_allocations(fewer, 0.5, (1, 2, 4)) == found


def test_a_limit_that_runs_away_from_the_slowest_variant_ends_in_words() -> None:
    variants = {"fast": over_cores(0.01), "slow": over_cores(2.0, most=1)}
    with pytest.raises(ConfigError, match=r"slow: with 1 cores a batch of 16 .* \(1c\)"):
        base_allocations(variants, 0.5, (1, 16))


def test_nothing_to_choose_from_is_refused() -> None:
    with pytest.raises(ConfigError, match="nothing was profiled of v"):
        base_allocations({"v": {}}, 1, (1,))
    with pytest.raises(ConfigError, match="threshold 0 queries/s"):
        base_allocations({"v": over_cores(1.0)}, 0, (1,))
