"""The variants worth considering."""

from collections.abc import Iterable

from dispatch.selection.policy import Candidate


def pareto_front(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates for which no other is as fast and more accurate, fastest first (RAMSIS, section 4.3.3).

    Latency is that of a batch of one; of candidates alike in both, the first by name stays.
    """
    front: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: (c.latency_s[1], -c.accuracy, c.variant)):
        if not front or candidate.accuracy > front[-1].accuracy:
            front.append(candidate)
    return front
