"""What all systems choose from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from catalog.errors import ConfigError
from catalog.profiles.profile import LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, read_profiles
from dispatch.latency.worker_latency import LATE_SHARE
from dispatch.plan import EndpointPlan
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.pareto import pareto_front
from dispatch.selection.ramsis.problem import MAX_QUEUE_ROWS, MOST_VARIANTS
from simulator.latency import LatencyModel, PlannedLatency, SampledLatency

DEVICE = "profiled"
ENDPOINT = "task"
PROFILES_FILE = Path(__file__).parents[3] / "shared" / "data" / "ramsis" / "image_profiles.csv"


@dataclass(frozen=True)
class Task:
    """Variants on the Pareto front, fastest first, the objective in seconds, and how many workers, all alike, serve.

    With ``profiles`` batches take times at random, as these say, and candidates have means; else what candidates say.
    """

    candidates: tuple[Candidate, ...]
    slo_s: float
    workers: int
    profiles: Mapping[str, LatencyProfile] | None = field(default=None, compare=False, repr=False)

    @property
    def late_share(self) -> float:
        """The part of batches that take longer than their candidate's latency."""
        return 0.0 if self.profiles is None else LATE_SHARE

    def latency(self, plan: EndpointPlan, seed: int) -> LatencyModel:
        """How long batches take in a run under this seed."""
        if self.profiles is None:
            return PlannedLatency(plan)
        return SampledLatency({DEVICE: self.profiles}, 0.0, np.random.default_rng(seed))

    @property
    def worker_ids(self) -> dict[str, str]:
        """Worker id to device; the order of ids is that of numbers."""
        return {f"w{number:05}": DEVICE for number in range(self.workers)}


def read_latencies(path: Path) -> dict[str, ProfiledVariant]:
    """Variants of a profile file, in its order. Raises `ConfigError` for one that is not there or cannot be used."""
    if not path.is_file():
        raise ConfigError(f"no profiles at {path}; name the file with --profiles")
    return read_profiles(path, DEVICE)


def read_candidates(path: Path, *, random: bool = False) -> tuple[Candidate, ...]:
    """Variants of a profile file, in its order, as `read_latencies` has them.

    Latencies are p95 for batches up to the longest queue that RAMSIS tells apart; where they are ``random`` candidates
    have means as well.
    """
    sizes = range(1, MAX_QUEUE_ROWS + 1)
    found = []
    for name, variant in read_latencies(path).items():
        profile = variant.profile
        tail_s = (0.0, *(profile.p95_s(size) for size in sizes))
        mean_s = (0.0, *(min(profile.mean_s(size), profile.p95_s(size)) for size in sizes)) if random else ()
        found.append(Candidate(name, variant.accuracy_pct / 100.0, tail_s, mean_s))
    return tuple(found)


def read_front(path: Path, *, random: bool = False) -> tuple[Candidate, ...]:
    """`read_candidates` on the Pareto front of accuracy and latency, fastest first.

    Raises `ConfigError` where these are more than a table holds.
    """
    front = tuple(pareto_front(read_candidates(path, random=random)))
    if len(front) > MOST_VARIANTS:
        raise ConfigError(
            f"{path} has {len(front)} variants on the front of accuracy and latency; tables hold {MOST_VARIANTS}: "
            "leave some out"
        )
    return front
