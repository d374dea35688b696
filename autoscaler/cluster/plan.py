"""What the planner decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Status(Enum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    """Within the gap that was asked for."""
    FEASIBLE = "feasible at limit"
    """The time was up; the plan is valid, and its gap says how far from the best it can be."""
    NO_ANSWER = "no answer"
    """The time was up with nothing in hand: the plan before stays in force."""
    HEURISTIC = "heuristic"
    """Made by a rule that proves nothing."""


@dataclass(frozen=True)
class SolveReport:
    """How a plan came about.

    ``gap`` is the proven relative distance of the program's objectives from their bounds, None where nothing is proven;
    what a planner gives up for room on purpose is beyond it. ``explanation`` says in sentences what limits the plan.
    """

    status: Status
    gap: float | None
    solve_s: float
    explanation: tuple[str, ...] = ()


@dataclass(frozen=True)
class NoPlan:
    """Nothing was found in time: the plan before stays in force."""

    report: SolveReport


@dataclass(frozen=True)
class StageChoice:
    """How one stage of a pipeline is to be served: what a plan reckons with.

    ``variants`` run in batches of so many rows at most each. ``workers`` is how many of them there are in all, and
    ``cost`` what these cost. ``run_s`` is the longest of the batches, the way to the worker with it, ``wait_s`` the
    longest wait for a batch to fill, and ``after_s`` what later stages need. ``load_qps`` are the stage's jobs.
    ``beyond_s`` is the longest that a batch of a more accurate variant may take that a worker holds beside these; None
    where nothing limits it but the query's deadline. Of the workers that hold the variants the plan counts on a
    ``worker_share`` for the stage: the others are there for other stages.
    """

    variants: Mapping[str, int]
    workers: int
    cost: float
    load_qps: float
    run_s: float
    wait_s: float
    after_s: float
    beyond_s: float | None = None
    worker_share: float = 1.0


def is_to_come(worker: str) -> bool:
    """Whether it is the name of a worker that is not there yet, ``device+1``."""
    return "+" in worker


@dataclass(frozen=True, kw_only=True)
class ClusterPlan:
    """Who holds what, and who gets which share.

    ``held`` has the variants of each worker that holds any. ``shares[endpoint][worker]`` is y of Proteus, section 4:
    the part of all the endpoint's queries that go to the worker, in sum at most 1; what is missing to 1 cannot be met.
    ``demand_qps`` is what the plan was made for, ``served_qps`` what of it the plan can serve, and ``capacity_qps`` how
    much it was made to bear without shedding more; ``accuracy`` is the mean over the queries served (0 to 1; absent
    where nothing is, or where the plan leaves it open who serves what). A plan that is the same for every load has
    neither of ``served_qps`` and ``capacity_qps``: see `for_no_load`. ``pool_sizes`` is the number of workers by
    device type; where it exceeds the workers that are there, ``held`` and ``shares`` name the ones to come
    ``device+1``... Workers that are ``spare`` are beyond these sizes: they serve until their pool shrinks, and are the
    ones to go. The queries of endpoints with their ``own_balancing`` have no shares: the balancers that these were
    built with decide among all workers that hold what is asked for. ``stages`` has by pipeline and stage how these are
    served, where the plan says so. ``slowdowns`` has, by worker and variant that it holds, how many times longer than
    alone the variant is reckoned to take there beside what other workers of the node run, where somebody predicts that.

    ``fallback`` has by worker the variants that it is to hold beside ``held``, the first to be loaded first: the plan
    is in force without them. Faster ones run batches where the planned variants are too slow for what waits, more
    accurate ones of a pipeline's stage where there is time for them. ``burst_qps`` is by endpoint what its workers
    could bear with the fastest of all these, where there are any faster ones.
    """

    report: SolveReport
    held: Mapping[str, frozenset[str]] = field(default_factory=dict)
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    demand_qps: Mapping[str, float] = field(default_factory=dict)
    served_qps: Mapping[str, float] = field(default_factory=dict)
    capacity_qps: Mapping[str, float] = field(default_factory=dict)
    accuracy: Mapping[str, float] = field(default_factory=dict)
    pool_sizes: Mapping[str, int] = field(default_factory=dict)
    spare: frozenset[str] = frozenset()
    own_balancing: frozenset[str] = frozenset()
    stages: Mapping[str, Mapping[str, StageChoice]] = field(default_factory=dict)
    slowdowns: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    fallback: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    burst_qps: Mapping[str, float] = field(default_factory=dict)

    def beside(self, worker: str) -> frozenset[str]:
        """The fallback variants of a worker."""
        return frozenset(self.fallback.get(worker, ()))

    def usable(self, worker: str, holds: frozenset[str]) -> frozenset[str]:
        """What a worker is there for that ``holds`` these variants beside what is planned; raises KeyError without."""
        return self.held[worker] | (self.beside(worker) & holds)

    @property
    def for_no_load(self) -> bool:
        """Whether it is the same for every load, and does not know what of that is served."""
        return bool(self.demand_qps) and not self.served_qps

    @property
    def shed(self) -> float:
        """The part of the demand that the plan cannot serve, 0 to 1; 0 where it does not know."""
        demand_qps = sum(self.demand_qps.values())
        return 1.0 - sum(self.served_qps.values()) / demand_qps if demand_qps and not self.for_no_load else 0.0

    @property
    def effective_accuracy(self) -> float | None:
        """Mean accuracy over all queries served, 0 to 1 (section 4); None where none is, or where it is not known."""
        served_qps = {name: qps for name, qps in self.served_qps.items() if qps}
        if not served_qps or served_qps.keys() - self.accuracy.keys():
            return None
        return sum(self.accuracy[name] * qps for name, qps in served_qps.items()) / sum(served_qps.values())
