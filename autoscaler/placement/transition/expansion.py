"""From numbers of workers to single workers, so that as little as possible is loaded."""

from collections.abc import Mapping, Sequence

from ortools.graph.python import min_cost_flow

Held = frozenset[str]
"""What a worker holds, or is to hold."""

COST_STEPS = 2**32
"""The solver counts in whole numbers: the dearest to load costs so many."""


def expand(wanted: Mapping[Held, int], workers: Mapping[str, Held], load_cost: Mapping[str, float]) -> dict[str, Held]:
    """Give ``wanted`` sets of variants to workers of one device type, at the least cost of loading in sum.

    ``workers`` says what each holds; ``load_cost`` is of a variant that a worker does not hold yet, 1 where none is
    given; one of 0 is not known, and counts as that of the dearest, or 1. Unloading is free. Workers are alike except
    for what they hold, so that this is a transport problem between groups of them, solved exactly. The result is by
    worker; workers without an entry are not needed. Raises ValueError where more is wanted than there are workers.
    """
    if sum(wanted.values()) > len(workers):
        raise ValueError(f"{sum(wanted.values())} workers wanted, {len(workers)} are there")
    members: dict[Held, list[str]] = {}
    for worker in sorted(workers):
        members.setdefault(workers[worker], []).append(worker)
    sources = list(members)
    targets = [target for target, count in wanted.items() if count]
    given: dict[str, Held] = {}
    for source, target, count in _transport(sources, targets, members, wanted, load_cost):
        taken, members[source] = members[source][:count], members[source][count:]
        given |= dict.fromkeys(taken, target)
    return given


def _transport(
    sources: Sequence[Held],
    targets: Sequence[Held],
    members: Mapping[Held, Sequence[str]],
    wanted: Mapping[Held, int],
    load_cost: Mapping[str, float],
) -> list[tuple[Held, Held, int]]:
    """How many workers go from each group to each target."""
    unknown = max(load_cost.values(), default=0.0) or 1.0
    costs = {
        (i, j): sum(load_cost.get(variant, 1.0) or unknown for variant in target - source)
        for i, source in enumerate(sources)
        for j, target in enumerate(targets)
    }
    unit = max(max(costs.values(), default=0.0) / COST_STEPS, 1e-12)
    flow = min_cost_flow.SimpleMinCostFlow()
    arcs = {
        flow.add_arc_with_capacity_and_unit_cost(i, len(sources) + j, len(members[sources[i]]), round(cost / unit)): key
        for key, cost in costs.items()
        for i, j in [key]
    }
    idle = len(sources) + len(targets)
    for i, source in enumerate(sources):
        flow.add_arc_with_capacity_and_unit_cost(i, idle, len(members[source]), 0)
        flow.set_node_supply(i, len(members[source]))
    for j, target in enumerate(targets):
        flow.set_node_supply(len(sources) + j, -wanted[target])
    flow.set_node_supply(idle, sum(wanted[target] for target in targets) - sum(map(len, members.values())))
    if flow.solve() != flow.OPTIMAL:
        raise AssertionError("a transport problem with enough supply has a solution")
    return [(sources[i], targets[j], flow.flow(arc)) for arc, (i, j) in arcs.items() if flow.flow(arc)]
