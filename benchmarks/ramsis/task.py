"""What all systems choose from."""

from dataclasses import dataclass
from pathlib import Path

from catalog.errors import ConfigError
from catalog.profiles.profile_csv import read_profiles
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.pareto import pareto_front
from dispatch.selection.ramsis.problem import MAX_QUEUE_ROWS

DEVICE = "profiled"
ENDPOINT = "task"
PROFILES_FILE = Path(__file__).parents[3] / "shared" / "data" / "ramsis" / "image_profiles.csv"


@dataclass(frozen=True)
class Task:
    """Variants on the Pareto front, fastest first, the objective in seconds, and how many workers, all alike, serve."""

    candidates: tuple[Candidate, ...]
    slo_s: float
    workers: int

    @property
    def worker_ids(self) -> dict[str, str]:
        """Worker id to device; the order of ids is that of numbers."""
        return {f"w{number:05}": DEVICE for number in range(self.workers)}


def read_candidates(path: Path) -> tuple[Candidate, ...]:
    """Variants of a profile file, in its order.

    Latencies are p95 for batches up to the longest queue that RAMSIS tells apart. Raises `ConfigError` for a file that
    is not there or cannot be used.
    """
    if not path.is_file():
        raise ConfigError(f"no profiles at {path}; name the file with --profiles")
    sizes = range(1, MAX_QUEUE_ROWS + 1)
    return tuple(
        Candidate(name, variant.accuracy_pct / 100.0, (0.0, *(variant.profile.p95_s(size) for size in sizes)))
        for name, variant in read_profiles(path, DEVICE).items()
    )


def read_front(path: Path) -> tuple[Candidate, ...]:
    """`read_candidates` on the Pareto front of accuracy and latency, fastest first."""
    return tuple(pareto_front(read_candidates(path)))
