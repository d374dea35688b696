"""Which members to hold at all, where several kinds of queries can be served in several ways each."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from dispatch.ensemble.member import MemberSet

Chosen = Mapping[str, MemberSet]
"""A set for each kind of query."""

ROUNDS = 8
"""Changes of mind are rare after the second round; this only bounds them."""


def cheapest_together(
    options: Mapping[str, Sequence[MemberSet]], starts: Iterable[Chosen], cost: Callable[[Chosen], float]
) -> dict[str, MemberSet]:
    """One option for each kind of query, so that all together cost the least.

    Members that others need already cost little more, since machines come whole: this is the second objective of
    Cocktail (section 4.1), solved through procurement, for all constraints at once. From each of the ``starts`` every
    kind in turn takes the option that is best beside what the others have, until none changes; a local optimum, of
    which the best is given, and of equals the first: also where all cost infinitely much. There is one start at least.
    """
    found: list[dict[str, MemberSet]] = []
    for start in starts:
        chosen = dict(start)
        for _ in range(ROUNDS):
            before = dict(chosen)
            for kind in options:
                chosen[kind] = min(options[kind], key=lambda option: cost({**chosen, kind: option}))
            if chosen == before:
                break
        found.append(chosen)
    return min(found, key=cost)


def member_loads(chosen: Chosen, loads_qps: Mapping[str, float]) -> dict[str, float]:
    """Queries per second that each member is asked, where every kind of query has so many and its own set."""
    found: dict[str, float] = {}
    for kind, own in chosen.items():
        for member, share in own.shares.items():
            found[member] = found.get(member, 0.0) + share * loads_qps.get(kind, 0.0)
    return found
