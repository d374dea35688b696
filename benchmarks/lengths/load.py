"""Texts for one way to serve them: by clients that wait for answers, and at random instants."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
from numpy.typing import NDArray

from benchmarks.lengths.host import ClockHost
from benchmarks.lengths.ways import Way


@dataclass(frozen=True)
class Played:
    """What came of one way: latencies of texts in seconds, over so many seconds, with an objective.

    ``cpu_s`` is the processor time of this process and of the worker meanwhile.
    """

    latency_s: NDArray[np.float64]
    seconds: float
    slo_s: float
    cpu_s: float

    @property
    def throughput_qps(self) -> float:
        """Texts that were answered per second."""
        return len(self.latency_s) / self.seconds

    @property
    def texts_per_cpu_s(self) -> float:
        """The same by processor time, which others on the machine do not take away."""
        return len(self.latency_s) / self.cpu_s

    @property
    def late_share(self) -> float:
        """Of the texts, those that were answered after their deadline."""
        return float((self.latency_s > self.slo_s).mean())

    def figures(self) -> dict[str, float]:
        """All of them by name."""
        return {
            "throughput_qps": self.throughput_qps,
            "texts_per_cpu_s": self.texts_per_cpu_s,
            "p50_ms": self.latency_ms(50),
            "p99_ms": self.latency_ms(99),
            "late_share": self.late_share,
        }

    def latency_ms(self, percent: float) -> float:
        """A percentile of the latency."""
        return 1e3 * float(np.percentile(self.latency_s, percent))


async def play_full(way: Way, slo_s: float, texts: Sequence[str], clients: int, seconds: float) -> Played:
    """So many clients, which send their next text when they have an answer; the first fifth of the time is left out."""
    host = ClockHost(way.endpoint(slo_s), way.worker)
    source = cycle(texts)
    begun_s = time.monotonic()
    counted_s, end_s = begun_s + seconds / 5, begun_s + seconds * 6 / 5
    latency_s: list[float] = []
    answered_s: list[float] = []
    cpu_s: list[float] = []

    async def client() -> None:
        while time.monotonic() < end_s:
            taken_s = await host.ask(next(source))
            if counted_s <= time.monotonic():
                latency_s.append(taken_s)
                answered_s.append(time.monotonic())
                cpu_s.append(time.process_time() + host.worker_cpu_s)

    await asyncio.gather(*(client() for _ in range(clients)))
    host.end()
    return Played(np.array(latency_s[1:]), answered_s[-1] - answered_s[0], slo_s, cpu_s[-1] - cpu_s[0])


async def play_rate(way: Way, slo_s: float, texts: Sequence[str], rate_qps: float, seconds: float, seed: int) -> Played:
    """Texts at the instants of a Poisson process; every one of them is answered and counts."""
    host = ClockHost(way.endpoint(slo_s), way.worker)
    rng = np.random.default_rng(seed)
    times_s = np.cumsum(rng.exponential(1.0 / rate_qps, size=max(1, round(rate_qps * seconds))))
    begun_s, begun_cpu_s = time.monotonic(), time.process_time()

    async def send(at_s: float, text: str) -> float:
        await asyncio.sleep(begun_s + at_s - time.monotonic())
        return await host.ask(text)

    sent = islice(cycle(texts), len(times_s))
    latency_s = await asyncio.gather(*(send(at_s, text) for at_s, text in zip(times_s.tolist(), sent, strict=True)))
    host.end()
    cpu_s = time.process_time() - begun_cpu_s + host.worker_cpu_s
    return Played(np.array(latency_s), time.monotonic() - begun_s, slo_s, cpu_s)
