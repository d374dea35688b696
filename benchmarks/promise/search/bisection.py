"""The highest load that is sustained, by trying."""

from collections.abc import Callable

RESOLUTION = 1.12
"""The load that is sustained and the one that is not are no further apart than this."""

GROWTH, RAISE = 2.0, 1.2
"""What the next load is a multiple of, where nothing is known, and where others sustain nearly as much."""

LOWERING = 1.12
"""So much less is tried where a longer trial does not sustain what shorter ones did."""

START_QPS = 500.0
LEAST_QPS = 10.0

Sustains = Callable[[float], bool]
"""Whether a load in queries per second is sustained, found by trying it."""


def highest_qps(sustains: Sustains, start_qps: float, resolution: float = RESOLUTION, growth: float = GROWTH) -> float:
    """Multiply or divide by ``growth`` from ``start_qps`` until one load is sustained and the next is not.

    Then halve the distance, which is a ratio. A load counts as not sustained when it was not twice, since other work on
    the machine may spoil a short trial. Gives 0.0 where not even `LEAST_QPS` is sustained.
    """
    sustained_qps, broken_qps = 0.0, 0.0
    load_qps = start_qps
    while not (sustained_qps and broken_qps):
        if sustains(load_qps) or sustains(load_qps):
            sustained_qps, load_qps = load_qps, load_qps * growth
        else:
            broken_qps, load_qps = load_qps, load_qps / growth
        if load_qps < LEAST_QPS and not sustained_qps:
            return 0.0
    while broken_qps > resolution * sustained_qps:
        load_qps = (sustained_qps * broken_qps) ** 0.5
        if sustains(load_qps) or sustains(load_qps):
            sustained_qps = load_qps
        else:
            broken_qps = load_qps
    return sustained_qps


def raised_qps(
    short: Sustains,
    long: Sustains,
    known_qps: float,
    start_qps: float = START_QPS,
    resolution: float = RESOLUTION,
) -> float:
    """The highest load beyond ``known_qps``, which others sustain, or ``known_qps`` where this one has none.

    Where no load is known, from ``start_qps`` on.

    Found by ``short`` trials, and confirmed by a ``long`` one, with less and less load until one is sustained: the
    highest of many short trials is a lucky one more often than not.
    """
    first_qps = known_qps * resolution if known_qps else start_qps
    if known_qps and not short(first_qps):
        return known_qps
    load_qps = highest_qps(short, first_qps, resolution, RAISE if known_qps else GROWTH)
    while load_qps > known_qps and not long(load_qps):
        load_qps /= LOWERING
        if load_qps < LEAST_QPS:
            return known_qps
    return max(known_qps, load_qps)
