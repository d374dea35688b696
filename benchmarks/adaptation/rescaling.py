"""A pool grows and shrinks under a constant load."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.adaptation.plan_times import Decision, in_brief
from benchmarks.adaptation.service import Service
from benchmarks.adaptation.traffic import Played

RESCALING_S = 35.0
SIZES = (4, 1)
SETTLE_S = 3.0
POLL_S = 0.25


class Rescale:
    """Gives the first pool other sizes; ``took_s`` has the seconds to each, None where it was not reached in time.

    ``changes_s`` has the spans, in seconds since the epoch, in which Serve carried changes out.
    """

    def __init__(self, service: Service) -> None:
        self.pool = next(iter(service.content["applications"][0]["args"]["pools"]))
        self.took_s: dict[int, float | None] = {}
        self.changes_s: list[tuple[float, float]] = []
        self._service = service

    async def run(self) -> None:
        """One size after the other, within `RESCALING_S`."""
        end_s = time.time() + RESCALING_S
        for size in SIZES:
            await asyncio.sleep(SETTLE_S)
            asked_s = time.time()
            await asyncio.to_thread(self._service.change, {"pools": {self.pool: {"workers": size}}})
            reached = await self._reached(size, end_s)
            self.took_s[size] = time.time() - asked_s if reached else None
            self.changes_s.append((asked_s, time.time() + SETTLE_S))

    async def _reached(self, size: int, end_s: float) -> bool:
        while time.time() < end_s:
            plan = await asyncio.to_thread(self._service.plan)
            if plan["pools"][self.pool]["workers"] == size:
                return True
            await asyncio.sleep(POLL_S)
        return False


def rescale_figures(rescale: Rescale, played: Played, decisions: Sequence[Decision]) -> dict[str, Any]:
    """Queries that failed, and how long each size took."""
    answers = played.answers
    return {
        "rescale_failed_queries": int(answers.failed.sum()),
        "queries": len(answers),
        "seconds_to_workers": {str(size): took_s for size, took_s in rescale.took_s.items()},
        "violation_pct": answers.violation_pct,
        "p99_ms": answers.p99_ms(),
        "failures": {kind: asdict(each) for kind, each in played.failures.items()},
        "generator_lag_p99_ms": played.lag_p99_ms,
        "plans": in_brief(decisions, played.began_at_s, played.ended_at_s),
    }
