"""An objective changes back and forth, so that the planner gives workers other variants under a constant load."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.adaptation.plan_times import AFTERMATH_S, Decision, epoch_s, in_brief, switches
from benchmarks.adaptation.service import Service
from benchmarks.adaptation.traffic import Played

SWITCHING_S = 40.0
FACTOR = 0.85
"""Objectives are tried downwards, each this times the one before."""

LEAST_MS = 35.0
"""With less, hardly a variant is in time, with 10 ms for the way to the worker and back."""

SETTLE_S = 2.0
"""Between two switches; also how long a change is given to become a plan."""

POLL_S = 0.2
CHANGED = "the config changed"
"""In the controller's reasons."""


class ObjectiveSwitch:
    """Changes one endpoint's objective for `SWITCHING_S`; ``low_ms`` is the other objective, None while none is known.

    ``changes_s`` has the spans, in seconds since the epoch, in which Serve carried changes out.
    """

    def __init__(self, service: Service, endpoint: str) -> None:
        self.endpoint = endpoint
        self.high_ms = service.slo_ms[endpoint]
        self.low_ms: float | None = None
        self.changes_s: list[tuple[float, float]] = []
        self._service = service

    async def run(self) -> None:
        """Find an objective that changes what workers hold, then go back and forth; ends with the objective as it was.

        Where the lower one makes no difference any more, because the load has fallen or runs take less, it is lowered
        again.
        """
        end_s = time.time() + SWITCHING_S - SETTLE_S
        await asyncio.sleep(SETTLE_S)  # the load of the part before is forgotten
        while time.time() < end_s:
            before = await self._held_after(self.high_ms)
            await asyncio.sleep(SETTLE_S)
            tried_ms = self.low_ms or self.high_ms * FACTOR
            held = await self._held_after(tried_ms)
            while held == before and tried_ms > LEAST_MS and time.time() < end_s:
                tried_ms = max(tried_ms * FACTOR, LEAST_MS)
                held = await self._held_after(tried_ms)
            self.low_ms = tried_ms if held != before else None
            await asyncio.sleep(SETTLE_S)
        await self._set(self.high_ms)

    async def _set(self, slo_ms: float) -> None:
        user_config = {"endpoints": {self.endpoint: {"slo_ms": slo_ms}}}
        now_s = time.time()
        self.changes_s.append((now_s, now_s + SETTLE_S))
        await asyncio.to_thread(self._service.change, user_config)

    async def _held_after(self, slo_ms: float) -> Any:
        """What workers hold under that objective, as soon as a plan is in force that knows of it."""
        asked_s = time.time()
        await self._set(slo_ms)
        while time.time() < asked_s + SETTLE_S:
            await asyncio.sleep(POLL_S)
            plan = await asyncio.to_thread(self._service.plan)
            decision = plan["decision"]
            if CHANGED in decision["reason"] and epoch_s(decision["asked_at"]) > asked_s:
                break
        return plan["decision"]["plan"]["held"]


def switch_figures(switch: ObjectiveSwitch, played: Played, decisions: Sequence[Decision]) -> dict[str, Any]:
    """The 99th percentile of queries sent while plans that change variants were made true, less that of the others."""
    spans_s = switches(decisions, played.began_at_s, played.ended_at_s)
    began_s = played.began_at_s
    during = played.answers.inside([(start_s - began_s, end_s - began_s) for start_s, end_s in spans_s])
    switching, others = played.answers.where(during), played.answers.where(~during)
    during_ms, others_ms = switching.p99_ms(), others.p99_ms()
    return {
        "switch_added_p99_ms": None if during_ms is None or others_ms is None else during_ms - others_ms,
        "switch_failed_queries": int(played.answers.failed.sum()),
        "switches": len(spans_s),
        "queries_in_switches": len(switching),
        "p99_in_switches_ms": during_ms,
        "p99_of_others_ms": others_ms,
        "failed_in_switches": int(switching.failed.sum()),
        "queries": len(played.answers),
        "rate_qps": len(played.answers) / played.duration_s,
        "endpoint": switch.endpoint,
        "slo_ms": [switch.high_ms, switch.low_ms],
        "in_force_s": [end_s - AFTERMATH_S - start_s for start_s, end_s in spans_s],
        "failures": {kind: asdict(each) for kind, each in played.failures.items()},
        "generator_lag_p99_ms": played.lag_p99_ms,
        "plans": in_brief(decisions, played.began_at_s, played.ended_at_s),
    }
