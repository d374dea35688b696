"""Measures what batches take in place, before the first query: the way to every worker, and every variant there."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

from catalog.profiles.profiler import sample_inputs
from catalog.tensor import Arrays, TensorSpec
from deployments.router.router import Router
from deployments.worker.client import WorkerGone
from dispatch.query import StageKey

logger = logging.getLogger("ray.serve")

SHARES = (0.0, 0.25, 1.0)
"""Batch sizes, as shares of the largest batch that may be in time, from one row on."""

MOST_WAIT_S = 60.0
"""A service whose workers do not come is reported as not ready by itself, warm or not."""

WAIT_EVERY_S = 0.05

GRACE_S = 10.0
"""A worker whose last batch takes so much longer than the warm-up is not waited for."""


class WarmUp:
    """Runs batches of made-up inputs on every worker for ``length_s``, before the service is ready.

    ``inputs`` are the tensors of each stage of each endpoint. What the batches took goes to the router's estimates, so
    that the first query finds them.
    """

    def __init__(
        self,
        router: Router,
        inputs: Mapping[StageKey, Sequence[TensorSpec]],
        length_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._router = router
        self._inputs = inputs
        self._length_s = length_s
        self._clock = clock
        self._samples: dict[tuple[StageKey, int], Arrays] = {}
        """Made when the first batch of that size runs: large ones take a while, and all workers run the same."""

    async def run(self) -> None:
        """Wait for workers and measure; what goes wrong is logged."""
        try:
            await self._workers_there()
            await self._measure()
        except Exception:
            logger.exception("The warm-up failed; latencies are learned from the first queries instead.")
        finally:
            self._samples.clear()

    async def _workers_there(self) -> None:
        end_s = self._clock() + MOST_WAIT_S
        endpoints = {key.endpoint for key in self._inputs}
        while not all(map(self._router.served, endpoints)) and self._clock() < end_s:  # noqa: ASYNC110
            await asyncio.sleep(WAIT_EVERY_S)

    async def _measure(self) -> None:
        """All workers at once; one that joins meanwhile is measured for as long as the others."""
        begun: dict[str, asyncio.Task[None]] = {}
        try:
            async with asyncio.timeout(self._length_s + GRACE_S):
                while (new := self._router.workers.using - begun.keys()) or not all(t.done() for t in begun.values()):
                    for worker in new:
                        end_s = self._clock() + self._length_s
                        begun[worker] = asyncio.ensure_future(self._on_worker(worker, end_s))
                    await asyncio.sleep(WAIT_EVERY_S)
                for task in begun.values():
                    task.result()
        except TimeoutError:
            logger.warning("A worker did not answer in the warm-up; its latency is learned from the first queries.")
        finally:
            for task in begun.values():
                task.cancel()

    async def _on_worker(self, worker: str, end_s: float) -> None:
        batches = [
            (candidate.variant, rows, stage)
            for stage, candidates, slo_s in self._router.held(worker)
            for candidate in candidates
            for rows in sizes_in_time(candidate.latency_s, slo_s)
        ]
        for variant, rows, stage in cycle(batches):
            if self._clock() >= end_s:
                return
            if (stage, rows) not in self._samples:
                self._samples[stage, rows] = self._sample(stage, rows)
            try:
                await self._router.batches.measure(worker, variant, rows, self._samples[stage, rows])
            except WorkerGone:
                return

    def _sample(self, stage: StageKey, rows: int) -> Arrays:
        """Inputs of the typical length, where they may be of any."""
        served = self._router.plan.endpoints[stage.endpoint].stages[stage.stage].lengths
        if served is None:
            return sample_inputs(self._inputs[stage], rows, seed=0)
        rule = served.rule
        specs = [spec for spec in self._inputs[stage] if spec.name not in rule.optional]
        return rule.with_mask(sample_inputs(specs, rows, 0, rule.lengths.typical_length))


def sizes_in_time(latency_s: Sequence[float], slo_s: float) -> list[int]:
    """A few batch sizes from 1 up to the largest that takes no more than half the objective by the profile."""
    most = max((rows for rows, s in enumerate(latency_s) if rows and s <= slo_s / 2.0), default=1)
    return sorted({max(1, round(share * most)) for share in SHARES})
