"""Workers that hold the variants of other stages as well, so that no stage ends with the death of a worker."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.planners.ipa.latency import longest_path
from autoscaler.planners.ipa.placement.assignment import Named, needs_of
from autoscaler.planners.ipa.problem import PipelineProblem
from autoscaler.planners.ipa.solution import Active
from dispatch.query import StageKey


def with_standby(
    cluster: Cluster,
    observation: Observation,
    problems: Sequence[PipelineProblem],
    active: Mapping[StageKey, Active],
    named: Named,
) -> Named:
    """The same workers, each with the active variants of all stages on its device type, as far as its memory goes.

    Whoever is idle then takes what is most urgent, of whichever stage: a stage goes on when the workers that were
    planned for it die, and its load may be more than was planned as long as that of others is less. It is an extension:
    the paper's replicas run one variant. The price is that a query may find the worker busy with a batch of another
    stage, once in every stage at most. So it is done only where each pipeline is in time even then.
    """
    by_name = {problem.name: problem for problem in problems}
    if not all(_in_time(problem, active) for problem in problems):
        return named
    wanted: dict[str, frozenset[str]] = {}
    for key, own in active.items():
        wanted[own.device] = wanted.get(own.device, frozenset()) | needs_of(by_name, key, own.variant)
    limits_bytes = {pool.device: pool.memory_bytes for pool in cluster.pools}
    held = {}
    for worker, own_variants in named.held.items():
        device = observation.devices.get(worker, worker.rpartition("+")[0])
        left_bytes = limits_bytes[device] - sum(cluster.memory_bytes.get(name, 0) for name in own_variants)
        more = set(own_variants)
        for name in sorted(wanted.get(device, frozenset()) - own_variants):
            if cluster.memory_bytes.get(name, 0) <= left_bytes:
                left_bytes -= cluster.memory_bytes.get(name, 0)
                more.add(name)
        held[worker] = frozenset(more)
    return replace(named, held=held)


def _in_time(problem: PipelineProblem, active: Mapping[StageKey, Active]) -> bool:
    """Whether the longest path is within the objective with the longest batch of any stage in front of each stage."""
    longest_s = max(own.run_s for own in active.values())
    latency_s = {
        stage.name: longest_s + own.wait_s + own.run_s
        for stage in problem.stages
        for own in [active[StageKey(problem.name, stage.name)]]
    }
    return longest_path(problem.stages, latency_s)[0] <= problem.slo_s
