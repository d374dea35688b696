"""How many queries a second one worker can serve with a variant, without missing the objective."""

from dataclasses import dataclass, replace

from dispatch.selection.policy import Candidate

WAITS = 2
"""A query that just missed a batch waits for that one and then takes its own (Proteus, section 4, after Nexus)."""

ALONE = 1
"""Where an endpoint balances its queries itself and members of ensembles have workers of their own: a query joins a
queue only where the next batch has room for it, and a batch may take as long as the objective allows."""


@dataclass(frozen=True)
class Capacity:
    """P of Proteus, section 4: ``qps`` queries per second in batches of ``batch_rows``."""

    batch_rows: int
    qps: float


def capacity_of(candidate: Candidate, slo_s: float, *, waits: int = WAITS) -> Capacity | None:
    """The largest batch that is in time behind others, over how long it keeps the worker; None where one row is not.

    ``waits`` is how many batches in a row the objective must have room for: 2 on a worker that runs one variant. The
    next is launched behind each but the last as soon as it may (`Candidate.cycle_s`), the last takes its whole latency.
    """
    limit_s = slo_s * (1 + 1e-9)
    rows = sum(_behind_s(candidate, rows, waits - 1) <= limit_s for rows in range(1, candidate.max_batch + 1))
    return Capacity(rows, rows / candidate.cycle_s[rows]) if rows else None


def _behind_s(candidate: Candidate, rows: int, others: int) -> float:
    """From the launch of the first of so many others to the result of a batch behind them, which grows with the rows.

    Two follow each other closely where the way is long, and then the next waits for the first of them to be back: at
    worst it comes later than on average.
    """
    latency_s, cycle_s = candidate.latency_s[rows], candidate.cycle_s[rows]
    if not others:
        return latency_s
    follow_s = candidate.follow_s[rows] if candidate.follow_s else latency_s
    return others * cycle_s + max(latency_s - follow_s - cycle_s, 0.0) + latency_s


def limited(candidate: Candidate, slo_s: float, *, waits: int = WAITS) -> Candidate | None:
    """The candidate with no larger batch than its capacity reckons with, for the policy that batches for it."""
    capacity = capacity_of(candidate, slo_s, waits=waits)
    return None if capacity is None else up_to(candidate, capacity.batch_rows)


def up_to(candidate: Candidate, rows: int) -> Candidate:
    """The candidate with batches of so many rows at most."""
    sizes = slice(rows + 1)
    return replace(
        candidate,
        latency_s=candidate.latency_s[sizes],
        mean_s=candidate.mean_s[sizes],
        follow_s=candidate.follow_s[sizes],
        result_s=candidate.result_s[sizes],
    )
