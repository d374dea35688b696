"""SlackFit of SuperServe (Khare et al., NSDI 2025, arXiv 2312.16733): variant and batch by the bucket of the slack."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from dispatch.selection.greedy import soonest
from dispatch.selection.policy import Candidate, Choice, QueueView

BUCKETS = 160
"""With the ImageNet profiles of RAMSIS at constant loads 80 to 400 are alike, and 40 or fewer less accurate."""

MOST_KEPT = 256
"""Buckets are kept for so many workers and estimates."""


class Batch(NamedTuple):
    """``variant`` with ``rows`` rows takes ``latency_s`` at most."""

    latency_s: float
    rows: int
    accuracy: float
    variant: str


Buckets = tuple[tuple[Batch, ...], ...]


@dataclass(frozen=True)
class SlackFitSelection:
    """The latencies of all variants and batch sizes fall into ``buckets`` of one width, from the least to the greatest.

    A decision takes, of the bucket of the greatest latency that the tightest slack has room for, the largest batch, of
    equals the most accurate: with much slack an accurate variant, with little a fast one with a large batch. Only
    batches that what waits can fill are considered, and a bucket without any is passed over for the one below: without
    that, profiles that grow by the row are all large batches of the fastest variant. Where no batch has room, `soonest`
    runs. A policy that reacts to bursts by their slack alone; for a central queue.
    """

    buckets: int = BUCKETS
    name: ClassVar[str] = "slack_fit"
    _kept: dict[int, tuple[tuple[Candidate, ...], Buckets]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def choose(self, view: QueueView) -> Choice:
        """The largest batch of the bucket that fits the slack."""
        slack_s, waiting, whole = view.slack_s, view.rows, view.first_rows
        for batches in self._bucketed(view.candidates):
            if batches[0].latency_s > slack_s:
                continue
            fitting = [each for each in batches if whole <= each.rows <= waiting and each.latency_s <= slack_s]
            if fitting:
                best = max(fitting, key=_most_rows)
                return Choice(best.variant, best.rows)
        candidate = soonest(view)
        return Choice(candidate.variant, candidate.batch_rows(waiting))

    def _bucketed(self, candidates: tuple[Candidate, ...]) -> Buckets:
        """Kept by identity, since to compare all latencies takes longer than a decision."""
        kept = self._kept.get(id(candidates))
        if kept is not None and kept[0] is candidates:
            return kept[1]
        if len(self._kept) >= MOST_KEPT:  # estimates of latency change, and those of before do not come back
            self._kept.clear()
        made = bucketed(candidates, self.buckets)
        self._kept[id(candidates)] = (candidates, made)
        return made


def bucketed(candidates: tuple[Candidate, ...], buckets: int) -> Buckets:
    """The batches of each bucket, fastest first, by descending latency; empty buckets are left out."""
    batches = sorted(
        Batch(c.latency_s[rows], rows, c.accuracy, c.variant) for c in candidates for rows in range(1, c.max_batch + 1)
    )
    least_s = batches[0].latency_s
    width_s = (batches[-1].latency_s - least_s) / buckets or 1.0
    made: dict[int, list[Batch]] = {}
    for batch in batches:
        made.setdefault(min(int((batch.latency_s - least_s) / width_s), buckets - 1), []).append(batch)
    return tuple(tuple(made[number]) for number in sorted(made, reverse=True))


def _most_rows(batch: Batch) -> tuple[int, float, float]:
    return batch.rows, batch.accuracy, -batch.latency_s
