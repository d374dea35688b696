"""Which router each worker belongs to."""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence

from ortools.graph.python import min_cost_flow


def assign_routers(
    kinds: Mapping[str, Hashable], routers: Collection[str], owners: Mapping[str, str]
) -> dict[str, str]:
    """Give every worker to a router, as evenly as whole workers can be, and change as few owners as that allows.

    ``kinds`` has what each worker is good for, ``owners`` whom it belongs to now, if to anyone. Of each kind, and of
    all workers, no router has more than one worker more than any other. Owners that are no routers any more lose
    theirs. The result is by worker, empty without routers, and always the same for the same arguments.
    """
    names = sorted(set(routers))
    if not names:
        return {}
    members: dict[Hashable, list[str]] = {}
    for worker in sorted(kinds):
        members.setdefault(kinds[worker], []).append(worker)
    extra = _extra(members, names, owners)
    given: dict[str, str] = {}
    for kind, workers in members.items():
        room = {name: len(workers) // len(names) + ((kind, name) in extra) for name in names}
        moving = []
        for worker in workers:
            owner = owners.get(worker, "")
            if room.get(owner, 0):
                given[worker] = owner
                room[owner] -= 1
            else:
                moving.append(worker)
        places = (name for name in names for _ in range(room[name]))
        given |= dict(zip(moving, places, strict=True))
    return given


def _extra(
    members: Mapping[Hashable, Sequence[str]], names: Sequence[str], owners: Mapping[str, str]
) -> set[tuple[Hashable, str]]:
    """Which routers get one more of which kind, of those that are left when all have equally many.

    A flow from kinds to routers: one unit at most from each kind to each router, ``least`` or one more into each
    router. To send every router the same part of what is left keeps these bounds, and they are whole numbers: so a
    flow of whole units keeps them too. A unit is worth 1 where it lets the router keep a worker; what the equal numbers
    let it keep is the same in every flow.
    """
    flow = min_cost_flow.SimpleMinCostFlow()
    first, end = len(members), len(members) + len(names)
    arcs = {}
    for i, (kind, workers) in enumerate(members.items()):
        equal, left = divmod(len(workers), len(names))
        flow.set_node_supply(i, left)
        own = Counter(owners.get(worker) for worker in workers)
        for j, name in enumerate(names):
            arc = flow.add_arc_with_capacity_and_unit_cost(i, first + j, 1, -int(own[name] > equal))
            arcs[arc] = (kind, name)
    least, rest = divmod(sum(len(workers) % len(names) for workers in members.values()), len(names))
    for j in range(len(names)):
        flow.set_node_supply(first + j, -least)
        flow.add_arc_with_capacity_and_unit_cost(first + j, end, 1, 0)
    flow.set_node_supply(end, -rest)
    if flow.solve() != flow.OPTIMAL:
        raise AssertionError("even parts of every kind and of all workers always exist")
    return {key for arc, key in arcs.items() if flow.flow(arc)}
