"""Which router each worker belongs to."""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence

import numpy as np
from scipy.optimize import linprog


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
        to_give = {name: len(workers) // len(names) + ((kind, name) in extra) for name in names}
        moving = []
        for worker in workers:
            owner = owners.get(worker, "")
            if to_give.get(owner, 0):
                given[worker] = owner
                to_give[owner] -= 1
            else:
                moving.append(worker)
        next_owners = (name for name in names for _ in range(to_give[name]))
        given |= dict(zip(moving, next_owners, strict=True))
    return given


def _extra(
    members: Mapping[Hashable, Sequence[str]], names: Sequence[str], owners: Mapping[str, str]
) -> set[tuple[Hashable, str]]:
    """Which routers get one more of which kind, of those that are left when all have equally many.

    A transport problem between kinds and routers: one unit at most from each kind to each router, ``least`` or one
    more into each router. To send every router the same part of what is left keeps these bounds, and they are whole
    numbers: so the corners of the problem, of which simplex gives one, are whole numbers too. A unit is worth 1 where
    it lets the router keep a worker; what the equal numbers let it keep is the same in every solution.
    """
    left = np.array([len(workers) % len(names) for workers in members.values()])
    if not left.any():
        return set()
    kinds, routers = len(members), len(names)
    worth = np.zeros((kinds, routers))
    for i, workers in enumerate(members.values()):
        own = Counter(owners.get(worker) for worker in workers)
        worth[i] = [own[name] > len(workers) // routers for name in names]
    least, rest = divmod(int(left.sum()), routers)
    of_kind = np.kron(np.eye(kinds), np.ones((1, routers)))
    to_router = np.kron(np.ones((1, kinds)), np.eye(routers))
    solved = linprog(
        -worth.ravel(),
        A_ub=np.vstack([to_router, -to_router]),
        b_ub=np.concatenate([np.full(routers, least + (rest > 0)), np.full(routers, -least)]),
        A_eq=of_kind,
        b_eq=left,
        bounds=(0, 1),
        method="highs-ds",
    )
    if not solved.success:
        raise AssertionError("even parts of every kind and of all workers always exist")
    given = solved.x.reshape(kinds, routers) > 0.5
    return {(kind, name) for i, kind in enumerate(members) for j, name in enumerate(names) if given[i, j]}
