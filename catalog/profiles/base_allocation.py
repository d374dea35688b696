"""The cores that one replica of each variant gets: the least that are enough (IPA, section 4.2, equation 1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from catalog.errors import ConfigError

SLO_FACTOR = 5.0
"""A task may take so many times the mean latency of its variants for one row (section 4.2, after Swayam)."""

CoreLatencies = Mapping[int, Callable[[int], float]]
"""By number of cores, the seconds that a batch of so many rows takes: `LatencyFit.latency_s` or `LatencyProfile.p95_s`.
"""


@dataclass(frozen=True)
class BaseAllocation:
    """``cores`` of one replica, with which it serves ``capacity_qps`` at most.

    A batch of one row takes ``first_s`` then, the largest ``largest_s``.
    """

    cores: int
    capacity_qps: float
    first_s: float
    largest_s: float


@dataclass(frozen=True)
class BaseAllocations:
    """Those of a task by variant, and the latency that the task may take."""

    slo_s: float
    variants: Mapping[str, BaseAllocation]


def base_allocations(
    variants: Mapping[str, CoreLatencies], threshold_qps: float, batch_sizes: Sequence[int], slo_s: float | None = None
) -> BaseAllocations:
    """The least cores per variant that bear the threshold (1b) within the latency for the largest batch (1c).

    The task's latency is `SLO_FACTOR` times the mean of what its variants take for one row under just these cores, so
    that each depends on the other. They are found from below: with no limit first, then with the limit that follows
    from the cores found, and so on until nothing changes. More cores only shorten the limit, and a shorter limit only
    takes more cores, so that this ends, and with the least cores of all that agree. With ``slo_s`` the limit is given.

    Raises `ConfigError` that says for every variant without an answer which constraint fails, and by how much.
    """
    if not variants or not all(variants.values()):
        empty = [name for name, own in variants.items() if not own]
        raise ConfigError(f"nothing was profiled of {', '.join(empty) or 'any variant'}; profile it for some cores")
    if not batch_sizes or threshold_qps <= 0:
        raise ConfigError(f"threshold {threshold_qps:g} queries/s, batch sizes {list(batch_sizes)}; give some above 0")
    limit_s = float("inf") if slo_s is None else slo_s
    while True:
        found = {name: least_cores(own, threshold_qps, batch_sizes, limit_s) for name, own in variants.items()}
        allocations = {name: each for name, each in found.items() if isinstance(each, BaseAllocation)}
        if failed := [f"{name}: {each}" for name, each in found.items() if isinstance(each, str)]:
            raise ConfigError(
                f"no base allocation for {len(failed)} of {len(found)} variants. {' '.join(failed)} Profile them with "
                "more cores, lower the threshold, use smaller batches, or leave them out"
            )
        if slo_s is not None:
            return BaseAllocations(slo_s, allocations)
        next_s = SLO_FACTOR * sum(each.first_s for each in allocations.values()) / len(allocations)
        if next_s >= limit_s:
            return BaseAllocations(next_s, allocations)
        limit_s = next_s


def least_cores(
    latencies: CoreLatencies, threshold_qps: float, batch_sizes: Sequence[int], slo_s: float
) -> BaseAllocation | str:
    """The allocation of one variant, or in a sentence why no number of cores that was profiled is enough."""
    largest, tried = max(batch_sizes), []
    for cores in sorted(latencies):
        latency_s = latencies[cores]
        capacity_qps = max(rows / latency_s(rows) for rows in batch_sizes)
        allocation = BaseAllocation(cores, capacity_qps, latency_s(1), latency_s(largest))
        if capacity_qps >= threshold_qps and allocation.largest_s <= slo_s:
            return allocation
        tried.append(allocation)
    best = max(tried, key=lambda each: (min(each.capacity_qps / threshold_qps, 1.0), slo_s / each.largest_s))
    if best.capacity_qps < threshold_qps:
        return (
            f"with {best.cores} cores it serves {best.capacity_qps:.3g} queries/s, "
            f"{threshold_qps - best.capacity_qps:.3g} less than the threshold of {threshold_qps:g} (1b)."
        )
    return (
        f"with {best.cores} cores a batch of {largest} takes {best.largest_s:.3g} s, "
        f"{best.largest_s - slo_s:.3g} more than the {slo_s:.3g} s of the task (1c)."
    )
