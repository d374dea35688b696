"""From replicas of stages to the workers that hold them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from math import inf

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.placement.transition.expansion import Held, expand
from autoscaler.planners.ipa.problem import PipelineProblem
from autoscaler.planners.ipa.solution import Active
from dispatch.query import StageKey

NOTHING: Held = frozenset()

Replicas = dict[tuple[StageKey, str, str], int]
"""By stage, variant and device type."""


def needs_of(pipelines: Mapping[str, PipelineProblem], key: StageKey, variant: str) -> Held:
    """What a worker holds for a variant of a stage."""
    (stage,) = (stage for stage in pipelines[key.endpoint].stages if stage.name == key.stage)
    candidate = next(option.candidate for option in stage.options if option.candidate.variant == variant)
    return frozenset(candidate.needs)


def fill_up(
    replicas: Replicas,
    active: Mapping[StageKey, Active],
    pipelines: Mapping[str, PipelineProblem],
    free: Mapping[str, int],
) -> tuple[Replicas, dict[StageKey, Active]]:
    """With the workers that are ``free``, by device type: one by one to the stage with the least room for its load.

    A stage's variant goes to another device type too where that is no slower with it.
    """
    filled = dict(replicas)
    capacity_qps = {key: own.capacity_qps for key, own in active.items()}
    loads_qps = {}
    speeds_qps: dict[tuple[StageKey, str], float] = {}
    costs: dict[tuple[StageKey, str], float] = {}
    for key, own in active.items():
        (stage,) = (stage for stage in pipelines[key.endpoint].stages if stage.name == key.stage)
        loads_qps[key] = pipelines[key.endpoint].load_qps * stage.jobs_per_query
        for option in stage.options:
            candidate = option.candidate
            if candidate.variant != own.variant or candidate.max_batch < own.batch_rows:
                continue
            costs[key, option.device] = option.cost
            if candidate.latency_s[own.batch_rows] <= own.run_s:
                speeds_qps[key, option.device] = stage.qps(candidate, own.batch_rows)
    for device, workers in free.items():
        open_to = [key for key in active if (key, device) in speeds_qps]
        for _ in range(workers if open_to else 0):
            least = min(
                open_to,
                key=lambda key: (capacity_qps[key] / loads_qps[key] if loads_qps[key] else inf, capacity_qps[key], key),
            )
            capacity_qps[least] += speeds_qps[least, device]
            place = least, active[least].variant, device
            filled[place] = filled.get(place, 0) + 1
    return filled, {
        key: replace(
            own,
            replicas=sum(number for (each, _, _), number in filled.items() if each == key),
            capacity_qps=capacity_qps[key],
            cost=sum(number * costs[key, device] for (each, _, device), number in filled.items() if each == key),
        )
        for key, own in active.items()
    }


@dataclass(frozen=True)
class Named:
    """``held`` by worker, those to come by the names that a plan gives them; ``sizes`` of the pools."""

    held: Mapping[str, Held]
    sizes: Mapping[str, int]


def name_workers(cluster: Cluster, observation: Observation, wanted: Mapping[str, Mapping[Held, int]]) -> Named:
    """Give what is ``wanted``, by device type and set of variants, to workers with as little to load as possible.

    Workers that are not needed are left out. Pools of a fixed size keep it; others have as many as are wanted.
    """
    held: dict[str, Held] = {}
    sizes: dict[str, int] = {}
    for pool in cluster.pools:
        own = wanted.get(pool.device, {})
        there = workers_there(observation, pool.device)
        more = sum(own.values()) - len(there)
        all_workers = {**there, **dict.fromkeys(islice(to_come(observation, pool.device), max(more, 0)), NOTHING)}
        held |= expand(own, all_workers, cluster.memory_bytes)
        sizes[pool.device] = len(there) if pool.max_workers is None else sum(own.values())
    return Named(held, sizes)


def workers_there(observation: Observation, device: str) -> dict[str, Held]:
    """The workers of a device type with what each holds."""
    return {worker: observation.held.get(worker, NOTHING) for worker, of in observation.devices.items() if of == device}


def to_come(observation: Observation, device: str) -> Iterator[str]:
    """Names for workers beyond those that are there, as `ClusterPlan` has them."""
    return (name for number in count(1) if (name := f"{device}+{number}") not in observation.devices)


def sets_of(replicas: Replicas, pipelines: Mapping[str, PipelineProblem]) -> dict[str, Counter[Held]]:
    """By device type how many workers are to hold which variants."""
    wanted: dict[str, Counter[Held]] = {}
    for (key, variant, device), number in replicas.items():
        wanted.setdefault(device, Counter())[needs_of(pipelines, key, variant)] += number
    return wanted
