"""Which variants failed lately on which worker."""

from dispatch.selection.policy import Candidate

FAILURES_TO_AVOID = 3
"""Failed batches in a row after which a variant is avoided; fewer may be the fault of one query."""

AVOID_S = 5.0
"""How long it is avoided before the next try."""


class VariantHealth:
    """Keeps selection away from a variant that keeps failing on a worker, while there is another to use.

    A worker of which all variants are avoided gets queries only where no other worker can take them (`StageQueues`).
    """

    def __init__(self) -> None:
        self._failures: dict[tuple[str, str], int] = {}
        self._avoid_until_s: dict[tuple[str, str], float] = {}
        self.any_avoided = False
        """Whether some variant is avoided somewhere, or was lately."""

    def on_success(self, worker: str, variant: str) -> None:
        """A batch came back: the variant works there."""
        if self._failures:
            self._failures.pop((worker, variant), None)
            self._avoid_until_s.pop((worker, variant), None)
            self.any_avoided = bool(self._avoid_until_s)

    def on_failure(self, worker: str, variant: str, now_s: float) -> None:
        """A batch raised."""
        key = (worker, variant)
        self._failures[key] = self._failures.get(key, 0) + 1
        if self._failures[key] >= FAILURES_TO_AVOID:
            self._avoid_until_s[key] = now_s + AVOID_S
            self.any_avoided = True

    def on_worker_lost(self, worker: str) -> None:
        """Forget a worker that is gone."""
        for table in (self._failures, self._avoid_until_s):
            for key in [key for key in table if key[0] == worker]:
                del table[key]
        self.any_avoided = bool(self._avoid_until_s)

    def usable(self, worker: str, candidates: tuple[Candidate, ...], now_s: float) -> tuple[Candidate, ...]:
        """Candidates not avoided at ``now_s``; all of them where that would leave none."""
        return self.not_avoided(worker, candidates, now_s) or candidates

    def not_avoided(self, worker: str, candidates: tuple[Candidate, ...], now_s: float) -> tuple[Candidate, ...]:
        """Candidates not avoided at ``now_s``, perhaps none."""
        if expired := [key for key, until_s in self._avoid_until_s.items() if until_s <= now_s]:
            for key in expired:
                del self._avoid_until_s[key]
            self.any_avoided = bool(self._avoid_until_s)
        return tuple(c for c in candidates if self._avoid_until_s.get((worker, c.variant), now_s) <= now_s)
