"""A load that is known beforehand."""

import pytest

from dispatch.load.known import KnownLoad


@pytest.mark.parametrize(
    ("now_s", "expected"), [(-1.0, 10.0), (0.0, 10.0), (4.999, 10.0), (5.0, 20.0), (8.0, 5.0), (1e6, 5.0)]
)
def test_each_load_holds_from_its_start_on(now_s: float, expected: float) -> None:
    assert KnownLoad([0.0, 5.0, 8.0], [10.0, 20.0, 5.0]).load_qps(now_s) == expected


def test_arrivals_change_nothing() -> None:
    load = KnownLoad([0.0], [10.0])
    load.on_arrival(1.0)
    assert load.load_qps(1.0) == 10.0


@pytest.mark.parametrize(("starts_s", "load_qps"), [([], []), ([0.0, 1.0], [3.0])])
def test_starts_and_loads_must_be_pairs(starts_s: list[float], load_qps: list[float]) -> None:
    with pytest.raises(ValueError, match="give one load per start, at least one"):
        KnownLoad(starts_s, load_qps)
