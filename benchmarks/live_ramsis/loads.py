"""What the systems are put to: shares of what the workers bear, at a constant load and with an excerpt of a trace."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.live_ramsis.scene import MAX_BATCH, TRANSPORT_MS, Scene
from catalog.errors import ConfigError
from catalog.profiles.profile import LatencyProfile
from workload.rate import RateSchedule, RateStep
from workload.renewal import Poisson
from workload.trace import RecordedArrivals, read_trace

Floats = NDArray[np.float64]

CONSTANT, TRACE = "constant", "twitter"
SHARES = (0.2, 0.4, 0.6, 0.85, 0.95)
STEP_S = 1.0
"""A step of the trace takes so long: in the published five minutes one takes 10 s, and all would take too long."""


@dataclass(frozen=True, eq=False)
class Case:
    """A load: ``warm_s`` at its first rate that do not count, then ``schedule`` for ``seconds``."""

    trace: str
    share: float
    schedule: RateSchedule
    seconds: float
    warm_s: float
    seed: int

    @property
    def duration_s(self) -> float:
        """Of the whole load."""
        return self.warm_s + self.seconds

    @property
    def load_qps(self) -> float:
        """The mean of what counts."""
        return float(self.schedule.cumulative(self.seconds)[1][-1]) / self.seconds

    @property
    def span_qps(self) -> tuple[float, float]:
        """The lowest and the highest rate, pauses apart."""
        rates_qps = [step.rate_qps for step in self.schedule.steps if step.rate_qps]
        return min(rates_qps), max(rates_qps)

    def arrivals_s(self) -> Floats:
        """Poisson arrivals from 0 to `duration_s`."""
        steps = self.schedule.steps
        warm = (RateStep(steps[0].rate_qps, self.warm_s),) if self.warm_s else ()
        whole = RateSchedule((*warm, *steps))
        return Poisson(whole, self.seed).times_s(self.duration_s)


def cases(
    scene: Scene, trace: Path | None, shares: Sequence[float], traces: Sequence[str], seconds: float, warm_s: float
) -> list[Case]:
    """Every share with every trace, the lowest share first: what a high load leaves behind disturbs none that follows.

    Of a trace the busiest ``seconds`` / `STEP_S` steps in a row are played, the highest at the share of the capacity.
    """
    most_qps = capacity_qps(scene)
    excerpt = excerpt_of(_steps_qps(trace), ceil(seconds / STEP_S)) if TRACE in traces else np.ones(1)
    found: list[Case] = []
    for share in shares:
        for name in traces:
            rates_qps = share * most_qps * (np.ones(1) if name == CONSTANT else excerpt / excerpt.max())
            step_s = seconds if name == CONSTANT else STEP_S
            schedule = RateSchedule(tuple(RateStep(rate_qps, step_s) for rate_qps in rates_qps.tolist()))
            found.append(Case(name, share, schedule, seconds, warm_s, scene.seed + len(found)))
    return found


def capacity_qps(scene: Scene) -> float:
    """What all workers bear: each runs the batch with the most rows per second again and again, with a way of
    `TRANSPORT_MS` each time.

    The batch takes half of the objective at most, at the 95th percentile, since queries come while another runs.
    """
    return scene.workers * max(_rate_qps(scene, each.profile) for each in scene.profiled.values())


def _rate_qps(scene: Scene, profile: LatencyProfile) -> float:
    sizes = [rows for rows in range(1, MAX_BATCH + 1) if profile.p95_s(rows) <= scene.slo_s / 2.0]
    return max((rows / (profile.mean_s(rows) + TRANSPORT_MS / 1e3) for rows in sizes), default=0.0)


def excerpt_of(steps_qps: Floats, count: int) -> Floats:
    """So many steps in a row with the highest sum; a shorter trace begins anew. Raises `ConfigError` without a load."""
    if not len(steps_qps) or steps_qps.max() <= 0:
        raise ConfigError("the trace has no load; give one that has")
    whole = np.tile(steps_qps, ceil(count / len(steps_qps)))
    sums = np.convolve(whole, np.ones(count), "valid")
    start = int(np.argmax(sums))
    return np.asarray(whole[start : start + count], dtype=np.float64)


def _steps_qps(trace: Path | None) -> Floats:
    """The loads of a trace file, or some that are made up where there is none."""
    if trace is None:
        return made_up_qps()
    source = read_trace(trace, seed=0)
    if isinstance(source, RecordedArrivals):
        return np.bincount(source.arrivals_s.astype(np.intp)).astype(np.float64)
    return np.array([step.rate_qps for step in source.schedule.steps])


def made_up_qps() -> Floats:
    """Thirty steps of a bounded random walk, which falls or rises by up to a sixth from one to the next."""
    factors = np.random.default_rng(0).uniform(5 / 6, 6 / 5, 30)
    return np.asarray(np.clip(np.cumprod(factors), 0.5, 1.5), dtype=np.float64)
