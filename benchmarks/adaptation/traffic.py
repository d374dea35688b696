"""Open-loop load on all endpoints of a service at once, and what is done to the service meanwhile."""

import asyncio
import gc
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.adaptation.answers import Answers
from benchmarks.adaptation.service import Service
from serve_app.loadgen.client import OpenLoopClient
from serve_app.loadgen.dataset import Dataset
from serve_app.loadgen.record import Record
from workload.rate import RateSchedule
from workload.renewal import Poisson

TIMEOUT_S = 10.0
SEED = 1

Action = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Failure:
    """One kind of failure."""

    count: int
    first_s: float
    example: str


@dataclass(frozen=True, eq=False)
class Played:
    """A load that is over: when it began, in seconds since the epoch, its length, and what came back.

    ``failures`` has, by kind, how many queries failed, when the first was to leave and what it was told.
    ``lag_p99_ms`` is how late the generator itself was.
    """

    began_at_s: float
    duration_s: float
    answers: Answers
    failures: Mapping[str, Failure]
    lag_p99_ms: float

    @property
    def ended_at_s(self) -> float:
        """When the last query was to leave, about."""
        return self.began_at_s + self.duration_s


def shared_out(total_qps: float, service: Service) -> dict[str, float]:
    """The same rate for every endpoint."""
    return dict.fromkeys(service.slo_ms, total_qps / len(service.slo_ms))


async def send(
    service: Service, dataset: Dataset, rates_qps: Mapping[str, RateSchedule], duration_s: float, action: Action
) -> Played:
    """Poisson arrivals at these rates by endpoint for ``duration_s``, with ``action`` done meanwhile."""
    clients = {name: OpenLoopClient(service.infer_url(name), dataset, TIMEOUT_S) for name in rates_qps}
    times_s = {
        name: Poisson(rate_qps, SEED + number).times_s(duration_s)
        for number, (name, rate_qps) in enumerate(rates_qps.items())
    }
    never = asyncio.Event()
    gc.disable()  # as for one client: a full collection would stop the sending for tens of milliseconds
    try:
        beside = asyncio.create_task(action())
        began_at_s = time.time()
        sending = [client.run(times_s[name], duration_s, never) for name, client in clients.items()]
        runs = dict(zip(clients, await asyncio.gather(*sending), strict=True))
        await beside
    finally:
        gc.enable()
    records = {name: run.records for name, run in runs.items()}
    lags_ms = [record.lag_ms for own in records.values() for record in own]
    lag_ms = float(np.percentile(lags_ms, 99)) if lags_ms else 0.0
    return Played(began_at_s, duration_s, Answers.of(records, service.slo_ms), failures_of(records), lag_ms)


def failures_of(records: Mapping[str, Sequence[Record]]) -> dict[str, Failure]:
    """By kind, over all endpoints."""
    failed = [record for own in records.values() for record in own if record.error_kind is not None]
    failed.sort(key=lambda record: record.intended_s)
    kinds = Counter(str(record.error_kind) for record in failed)
    first = {kind: next(record for record in failed if record.error_kind == kind) for kind in kinds}
    return {kind: Failure(count, first[kind].intended_s, str(first[kind].error)) for kind, count in kinds.items()}


async def nothing() -> None:
    """No action."""
