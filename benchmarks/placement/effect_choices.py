"""Who is placed beside whom: by the predictor, and by least-loaded schedulers that know different loads."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from autoscaler.placement.baselines import least_loaded
from autoscaler.placement.joint import Placement, joint
from autoscaler.placement.machine import LatencySum, Machine
from benchmarks.placement.effect_load import Mix

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


def by_prediction(mix: Mix, two: Sequence[Machine], cost: LatencySum) -> Split:
    """The placement with the least predicted latency of all queries, in sum."""
    return split_of(mix, joint(mix, two, cost))


def by_load(mix: Mix, two: Sequence[Machine], load: Mapping[str, float], largest_first: bool) -> Split:
    """The least-loaded machine for each variant, in the order of arrival or of the load."""
    order = tuple(sorted(mix, key=lambda name: -load[name])) if largest_first else mix
    return split_of(order, least_loaded(order, two, load))
