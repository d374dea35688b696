"""The variants worth considering."""

from collections.abc import Iterable
from math import inf

from dispatch.selection.policy import Candidate


def pareto_front(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates but for those that another one is as accurate as and as fast at every batch size, fastest first.

    The paper goes by batches of one (RAMSIS, section 4.3.3). That loses variants with a flat profile, as on GPUs, which
    are slower than a less accurate one alone and faster in large batches. Fast is both what fits into the slack and the
    mean; a candidate that takes larger batches is not as fast there as any that does not take them. Of candidates alike
    in all, the first by name stays.
    """
    front: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: (-c.accuracy, (*c.latency_s, inf), (*c.busy_s, inf), c.variant)):
        if not any(_as_fast(better, candidate) for better in front):
            front.append(candidate)
    return sorted(front, key=lambda c: (c.latency_s[1], c.accuracy, c.variant))


def _as_fast(one: Candidate, other: Candidate) -> bool:
    """Whether ``one`` takes no longer than ``other`` at any batch size that the other takes."""
    return one.max_batch >= other.max_batch and all(
        own_s <= other_s
        for mine, its in ((one.latency_s, other.latency_s), (one.busy_s, other.busy_s))
        for own_s, other_s in zip(mine[1:], its[1:], strict=False)
    )
