"""Who is placed beside whom: by the predictor, and by least-loaded schedulers that know different loads."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp, log

from autoscaler.placement.baselines import least_loaded
from autoscaler.placement.joint import Placement, joint
from autoscaler.placement.machine import LatencySum, Machine
from benchmarks.placement.effect_load import P95, Mix
from predictor.configuration import Configuration

ROOM = 2
"""Variants on one CPU: three would take more of it than there is in many mixes."""

Split = tuple[Mix, ...]
"""The variants of each of two equal machines, in the order of their names; the machines too, as nobody tells them
apart."""


def machines(machine_type: str) -> tuple[Machine, Machine]:
    """Two of the type."""
    return Machine("0", machine_type, ROOM), Machine("1", machine_type, ROOM)


def split_of(mix: Mix, placement: Placement) -> Split:
    """What a placement comes to on machines that are alike: who is with whom."""
    there = {
        name: tuple(sorted(v for v, m in zip(mix, placement, strict=True) if m == name)) for name in set(placement)
    }
    return tuple(sorted(there.values()))


def all_splits(mix: Mix) -> list[Split]:
    """Every one with room for all."""
    return sorted(
        {
            tuple(sorted((tuple(sorted(some)), tuple(sorted(set(mix) - set(some))))))
            for size in range(len(mix) - ROOM, ROOM + 1)
            for some in combinations(mix, size)
        }
    )


def by_latency_sum(mix: Mix, two: Sequence[Machine], cost: LatencySum) -> Split:
    """The placement with the least predicted latencies in sum, as the paper and the planner have it."""
    return split_of(mix, joint(mix, two, cost))


def by_p95(mix: Mix, machine_type: str, cost: LatencySum) -> Split:
    """The placement with the least predicted 95th percentile of all queries, of the same predictions as in the sum.

    ``cost`` is of 95th percentiles of each variant's latency, with queries per second for weights.
    """

    def p95_s(split: Split) -> float:
        configurations = [Configuration(machine_type, own) for own in split if own]
        found = {
            variant: slowdown * cost.alone_s[machine_type, variant]
            for (_, own), slowdowns in zip(configurations, cost.interference.slowdowns(configurations), strict=True)
            for variant, slowdown in zip(own, slowdowns, strict=True)
        }
        return p95_of_all_s([cost.weights[variant] for variant in found], list(found.values()))

    return min(all_splits(mix), key=p95_s)


def p95_of_all_s(rates_qps: Sequence[float], p95_s: Sequence[float]) -> float:
    """The 95th percentile of all queries, where each variant's latencies are exponential with its own one.

    That is how latencies end where a processor is shared; the exponential has ``exp(-log(20) x / p95)`` above x.
    """
    allowed_qps = (1 - P95) * sum(rates_qps)
    low_s, high_s = 0.0, max(p95_s)
    for _ in range(50):
        middle_s = (low_s + high_s) / 2
        above_qps = sum(
            rate_qps * exp(log(1 - P95) * middle_s / own_s) for rate_qps, own_s in zip(rates_qps, p95_s, strict=True)
        )
        low_s, high_s = (middle_s, high_s) if above_qps > allowed_qps else (low_s, middle_s)
    return high_s


def by_load(mix: Mix, two: Sequence[Machine], load: Mapping[str, float], largest_first: bool) -> Split:
    """The least-loaded machine for each variant, in the order of arrival or of the load."""
    order = tuple(sorted(mix, key=lambda name: -load[name])) if largest_first else mix
    return split_of(order, least_loaded(order, two, load))
