"""What the other buckets of a queue leave a batch of the time until its deadline."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from dispatch.selection.policy import Candidate


class Waiting(NamedTuple):
    """A bucket in which ``rows`` wait, the first of them due at ``deadline_s``, with its candidates."""

    deadline_s: float
    rows: int
    candidates: tuple[Candidate, ...]


def room_until_s(waiting: Sequence[Waiting], now_s: float, workers: int) -> float:
    """The instant by which a batch of the first bucket should be done, so that a batch of each other one can follow.

    Buckets are in the order of their first deadlines and follow one another on the fastest variant, ``workers`` of them
    at once: bucket k is in time if the first batch is done by its deadline, less what those before it take on average
    and it in nearly all cases. Never later than the first deadline; where others leave no room, as soon as the
    fastest variant can be done, but no later than the first deadline: nobody is given up for the sake of others.
    """
    first, *others = waiting
    until_s, between_s = inf, 0.0
    for bucket in others:
        tail_s, busy_s = _fastest_s(bucket)
        until_s = min(until_s, bucket.deadline_s - between_s - tail_s)
        between_s += busy_s / workers
    soonest_s = now_s + _fastest_s(first)[0]
    return min(first.deadline_s, max(until_s, soonest_s))


def _fastest_s(bucket: Waiting) -> tuple[float, float]:
    """What a batch of the bucket takes in nearly all cases, and on average, on the variant that is done first."""
    return min((c.latency_s[n], c.busy_s[n]) for c in bucket.candidates for n in [c.batch_rows(bucket.rows)])
