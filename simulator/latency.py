"""How long a batch takes in a simulation."""

from collections.abc import Mapping
from math import exp, log, sqrt
from typing import Protocol

import numpy as np

from autoscaler.cluster.cluster import Endpoint
from catalog.profiles.profile import LatencyProfile
from dispatch.plan import EndpointPlan
from dispatch.query import Batch

SAMPLES_AT_ONCE = 4096

NORMAL_95 = 1.6449


class LatencyModel(Protocol):
    """Gives the time from the launch of a batch to its result. May keep state (a generator), never a clock."""

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        """The run of the batch and its way to the worker and back, in seconds; their sum is above 0."""
        ...


class PlannedLatency:
    """Exactly what the candidates say, so that no batch takes other than planned (RAMSIS, section 7).

    Plans may change while a simulation runs, and offer smaller batches of a candidate: give the cluster's endpoints,
    which have all of every candidate, where they do.
    """

    def __init__(self, *endpoints: EndpointPlan | Endpoint) -> None:
        self._candidates = {
            (device, candidate.variant): candidate
            for endpoint in endpoints
            for stage in (endpoint.stages.values() if isinstance(endpoint, EndpointPlan) else [endpoint])
            for device, candidates in stage.candidates.items()
            for candidate in candidates
        }

    def batch_s(self, device: str, variant: str, rows: int) -> float:
        """The candidate's own figure, the way included."""
        return self._candidates[device, variant].latency_s[rows]

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        """The candidate's own figure, divided into run and way as it has them."""
        candidate = self._candidates[device, batch.variant]
        return candidate.latency_s[batch.rows] - candidate.path_s, candidate.path_s


class DrawnLatency(PlannedLatency):
    """Lognormal runs of the candidates' mean and 95th percentile, and their way as it is."""

    def __init__(self, endpoint: EndpointPlan, rng: np.random.Generator) -> None:
        super().__init__(endpoint)
        self._rng = rng
        self._parameters: dict[tuple[str, str, int], tuple[float, float]] = {}

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        """The next draw, and the way."""
        candidate = self._candidates[device, batch.variant]
        key, path_s = (device, batch.variant, batch.rows), candidate.path_s
        if key not in self._parameters:
            self._parameters[key] = lognormal(
                candidate.done_s[batch.rows] - path_s, candidate.latency_s[batch.rows] - path_s
            )
        return float(self._rng.lognormal(*self._parameters[key])), path_s


def planned_latency(endpoint: EndpointPlan, seed: int) -> LatencyModel:
    """What batches take by the candidates: always the same, or drawn where they have means beside what nearly all
    batches take."""
    offered = [c for stage in endpoint.stages.values() for own in stage.candidates.values() for c in own]
    if any(candidate.mean_s for candidate in offered):
        return DrawnLatency(endpoint, np.random.default_rng(seed))
    return PlannedLatency(endpoint)


def lognormal(mean: float, p95: float) -> tuple[float, float]:
    """Mean and deviation of the logarithm; where no lognormal has that 95th percentile, the widest of that mean that
    comes near."""
    ratio = log(max(p95, mean) / mean)
    sigma = NORMAL_95 - sqrt(max(NORMAL_95**2 - 2.0 * ratio, 0.0))
    return log(mean) - sigma**2 / 2.0, sigma


class SampledLatency:
    """Lognormal times with the mean and the standard deviation of the profile, and the transport on top.

    Lognormal because measured times are positive with a long tail to the right, and since one normal variate per
    batch makes it, whatever the variant: two plans under the same seed meet the same luck. Means and deviations
    never fall with the batch, single draws may. ``profiles`` are by device type and variant.
    """

    def __init__(
        self, profiles: Mapping[str, Mapping[str, LatencyProfile]], transport_s: float, rng: np.random.Generator
    ) -> None:
        self._profiles = profiles
        self._transport_s = transport_s
        self._rng = rng
        self._normals: list[float] = []
        self._parameters: dict[tuple[str, str, int], tuple[float, float]] = {}

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        """The next draw, and the transport."""
        return self.run_s(device, batch.variant, batch.rows), self._transport_s

    def run_s(self, device: str, variant: str, rows: int) -> float:
        """The next draw."""
        key = (device, variant, rows)
        if key not in self._parameters:
            profile = self._profiles[device][variant]
            self._parameters[key] = _lognormal(profile.latency_ms(rows, "mean_ms"), profile.latency_ms(rows, "std_ms"))
        mu, sigma = self._parameters[key]
        if not self._normals:
            self._normals = self._rng.standard_normal(SAMPLES_AT_ONCE).tolist()
        return exp(mu + sigma * self._normals.pop()) / 1e3


def _lognormal(mean: float, std: float) -> tuple[float, float]:
    """Mean and deviation of the logarithm."""
    variance = log(1.0 + (std / mean) ** 2)
    return log(mean) - variance / 2.0, sqrt(variance)
