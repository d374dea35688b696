"""The first plan of a live service with all of its workers: some baselines keep it, or the places of its workers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.cluster.plan_record import from_record


@dataclass(frozen=True)
class FirstPlan:
    """``plan`` with the pool of each worker."""

    plan: ClusterPlan
    pools: Mapping[str, str]

    @classmethod
    def of(cls, made_true: Iterable[Mapping[str, Any]], workers: int) -> "FirstPlan":
        """The first of these decisions that knew so many workers. Raises RuntimeError where none did."""
        for decision in made_true:
            plan = from_record(decision["plan"])
            if sum(plan.pool_sizes.values()) >= workers:
                return cls(plan, {worker: each["pool"] for worker, each in decision["workers"].items()})
        raise RuntimeError(f"no plan was made for {workers} workers; see the service's log for those that are missing")

    def on(self, workers: Mapping[str, str]) -> ClusterPlan:
        """The same plan for as many other workers, by id their pool: workers of a pool are alike."""
        ids = dict(zip(_by_pool(self.pools), _by_pool(workers), strict=True))
        return replace(
            self.plan,
            held={ids[worker]: held for worker, held in self.plan.held.items()},
            shares={
                endpoint: {ids[worker]: share for worker, share in shares.items()}
                for endpoint, shares in self.plan.shares.items()
            },
            fallback={ids[worker]: variants for worker, variants in self.plan.fallback.items()},
        )


def _by_pool(pools: Mapping[str, str]) -> list[str]:
    return sorted(pools, key=lambda worker: (pools[worker], worker))
