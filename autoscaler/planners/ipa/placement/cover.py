"""Each stage held by some worker, where no program has a plan: fewer workers than stages, and too little memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from autoscaler.cluster.cluster import Cluster
from autoscaler.planners.ipa.placement.cluster_problem import needed_bytes
from autoscaler.planners.ipa.problem import Option, PipelineProblem
from autoscaler.planners.ipa.solution import Active
from dispatch.query import StageKey


@dataclass(frozen=True)
class Cover:
    """``held`` are the variants of every worker that got any, ``active`` is by stage what its workers run.

    Batches are of one row. A worker divides its time evenly among what it holds, which bears the ``served`` part of the
    loads. Stages that are ``missing`` fit no worker beside what it holds.
    """

    held: Mapping[str, frozenset[str]]
    active: Mapping[StageKey, Active]
    served: float
    missing: tuple[StageKey, ...]


def cover(
    cluster: Cluster,
    pipelines: Sequence[PipelineProblem],
    workers: Mapping[str, str],
    before: Mapping[str, frozenset[str]],
) -> Cover:
    """Give each stage its variant of least memory (of equals the fastest), the largest first.

    It goes to the worker, of ``workers`` by device type, that runs the fewest stages so far, or where that leaves more
    of them out to the one that needs the least memory for it beside what it holds for others, of equals the one with
    the least room; of equals to one that held it ``before``. Workers that are left over take that variant of the stage
    that bears the least of its load.
    """
    evenly, tightly = (_cover(cluster, pipelines, workers, before, tight) for tight in (False, True))
    return evenly if len(evenly.missing) <= len(tightly.missing) else tightly


def _cover(
    cluster: Cluster,
    pipelines: Sequence[PipelineProblem],
    workers: Mapping[str, str],
    before: Mapping[str, frozenset[str]],
    tight: bool,
) -> Cover:
    pools = {pool.device: pool for pool in cluster.pools}
    room_bytes = {worker: pools[device].memory_bytes for worker, device in workers.items()}
    given: dict[str, list[tuple[StageKey, Option]]] = {worker: [] for worker in sorted(workers)}
    held: dict[str, frozenset[str]] = dict.fromkeys(given, frozenset())
    loads = {}
    able: dict[StageKey, list[Option]] = {}
    for pipeline in pipelines:
        for stage in pipeline.stages:
            key = StageKey(pipeline.name, stage.name)
            loads[key] = pipeline.load_qps * stage.jobs_per_query
            able[key] = sorted(
                (option for option in stage.options if option.device in workers.values()),
                key=lambda o: (needed_bytes(cluster, o.candidate), o.candidate.latency_s[1], o.candidate.variant),
            )

    def place(key: StageKey, idle: bool) -> bool:
        for option in able[key]:
            needs = frozenset(option.candidate.needs)
            lacks_bytes = {
                worker: sum(cluster.memory_bytes.get(name, 0) for name in needs - own) for worker, own in held.items()
            }
            fitting = [
                worker
                for worker in given
                if workers[worker] == option.device
                and room_bytes[worker] >= lacks_bytes[worker]
                and not (idle and given[worker])
            ]
            if fitting:
                best = min(
                    fitting,
                    key=lambda w: (
                        (lacks_bytes[w], room_bytes[w]) if tight else (len(given[w]),),
                        not needs <= before.get(w, frozenset()),
                        w,
                    ),
                )
                given[best].append((key, option))
                held[best] |= needs
                room_bytes[best] -= lacks_bytes[best]
                able[key] = [each for each in able[key] if each.candidate.variant == option.candidate.variant]
                return True
        return False

    def capacity_qps(key: StageKey) -> float:
        return sum(
            1 / option.candidate.cycle_s[1] / len(own) for own in given.values() for each, option in own if each == key
        )

    least_bytes = {key: needed_bytes(cluster, own[0].candidate) if own else inf for key, own in able.items()}
    for key in sorted(loads, key=lambda each: (-least_bytes[each], each)):
        place(key, idle=False)
    short = [key for key in loads if capacity_qps(key) > 0]
    while short and not all(given.values()):
        key = min(short, key=lambda each: (capacity_qps(each) / loads[each] if loads[each] else inf, each))
        if not place(key, idle=True):
            short.remove(key)
    active = {}
    for key in loads:
        runs = {worker: option for worker, own in given.items() for each, option in own if each == key}
        if runs:
            slowest = max(runs.values(), key=lambda option: option.candidate.latency_s[1])
            beside = [option.candidate.latency_s[1] for worker in runs for each, option in given[worker] if each != key]
            active[key] = Active(
                variant=slowest.candidate.variant,
                device=slowest.device,
                batch_rows=1,
                replicas=len(runs),
                cost=sum(option.cost / len(given[worker]) for worker, option in runs.items()),
                run_s=slowest.candidate.latency_s[1],
                wait_s=max(beside, default=0.0),
                capacity_qps=capacity_qps(key),
            )
    return Cover(
        held={worker: own for worker, own in held.items() if own},
        active=active,
        served=min((1.0, *(own.capacity_qps / loads[key] for key, own in active.items() if loads[key]))),
        missing=tuple(key for key in loads if key not in active),
    )
