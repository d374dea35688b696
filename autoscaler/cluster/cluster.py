"""What the planner plans for: endpoints with their variants, and pools of workers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from autoscaler.cluster.observation import Observation
from catalog.errors import ConfigError
from dispatch.selection.policy import Candidate


@dataclass(frozen=True)
class Stage:
    """One stage of a pipeline: the stages whose outputs it takes, and by device type the variants that may run it.

    Its jobs have ``rows_per_job`` rows each, but for the last one of a query, and are never split.
    """

    name: str
    after: tuple[str, ...]
    candidates: Mapping[str, tuple[Candidate, ...]]
    rows_per_job: int = 1


@dataclass(frozen=True)
class Endpoint:
    """One query type: its objective, and by device type the variants that may serve it.

    An accuracy is 0 to 1, as the caller wants it weighed: normalise it to the endpoint's best variant to compare
    endpoints whose accuracies are measured differently (Proteus, section 6.1.2). A pipeline has ``stages``, each behind
    those that it takes from, and ``candidates`` are those of all of them; ``measured_accuracy`` is that of whole
    pipelines by their variants, in the order of the stages, where that was measured.
    """

    name: str
    slo_s: float
    candidates: Mapping[str, tuple[Candidate, ...]]
    stages: tuple[Stage, ...] = ()
    measured_accuracy: Mapping[tuple[str, ...], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Pool:
    """Workers of one device type. ``memory_bytes`` is of one worker.

    ``max_workers`` lets the planner choose how many there are, up to that number, at ``price_per_h`` for each; None
    keeps the workers that are there.
    """

    device: str
    memory_bytes: float = inf
    price_per_h: float = 0.0
    max_workers: int | None = None


@dataclass(frozen=True)
class Cluster:
    """All endpoints and pools, one pool per device type. Variants without ``memory_bytes`` fit everywhere."""

    endpoints: tuple[Endpoint, ...]
    pools: tuple[Pool, ...]
    memory_bytes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `ConfigError` for names that occur twice, and for figures that nothing can be planned with."""
        for kind, names in (
            ("endpoint", [endpoint.name for endpoint in self.endpoints]),
            ("pool of device", [pool.device for pool in self.pools]),
        ):
            for name in names:
                if names.count(name) > 1:
                    raise ConfigError(f"{kind} {name!r} is there {names.count(name)} times; give it once")
        for endpoint in self.endpoints:
            if not 0 < endpoint.slo_s < inf:
                raise ConfigError(f"endpoint {endpoint.name!r}: slo_s is {endpoint.slo_s:g}; give a time above 0")
            for candidate in (each for own in endpoint.candidates.values() for each in own):
                if not 0 <= candidate.accuracy <= 1:
                    raise ConfigError(
                        f"endpoint {endpoint.name!r}: accuracy of {candidate.variant!r} is {candidate.accuracy:g}; "
                        "give it from 0 to 1"
                    )
        for pool in self.pools:
            if pool.max_workers is not None and pool.max_workers < 0:
                raise ConfigError(f"pool {pool.device!r}: max_workers is {pool.max_workers}; give a number from 0")
            if not 0 <= pool.price_per_h < inf:
                raise ConfigError(f"pool {pool.device!r}: price_per_h is {pool.price_per_h:g}; give a price from 0")

    @property
    def variants(self) -> frozenset[str]:
        """All that workers may be asked to hold; what was withdrawn is not among them."""
        candidates = (each for endpoint in self.endpoints for own in endpoint.candidates.values() for each in own)
        return frozenset(name for candidate in candidates for name in candidate.needs)

    def demand_qps(self, observation: Observation) -> dict[str, float]:
        """What is observed to be asked of every endpoint, 0 where nothing is said.

        Raises ValueError for endpoints that are not there, and for loads that are no finite number from 0.
        """
        names = [endpoint.name for endpoint in self.endpoints]
        for name, qps in observation.demand_qps.items():
            if name not in names:
                raise ValueError(f"demand of endpoint {name!r}, which is not there; there are {', '.join(names)}")
            if not 0 <= qps < inf:
                raise ValueError(f"demand of endpoint {name!r} is {qps:g} queries/s; give a finite number from 0")
        return {name: observation.demand_qps.get(name, 0.0) for name in names}
