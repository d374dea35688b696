"""What a cluster asks of IPA's program."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from autoscaler.cluster.cluster import Cluster, Endpoint, Stage
from autoscaler.cluster.observation import Observation
from autoscaler.planners.ipa.accuracy import accuracy_of
from autoscaler.planners.ipa.problem import Accuracy, Option, PipelineProblem, StageProblem, Workers
from catalog.errors import ConfigError
from dispatch.query import ONLY_STAGE
from dispatch.selection.policy import Candidate

LEAST_QPS = 1e-3
"""Where anything is asked for, so much is planned for: less would make coefficients larger than a solver takes."""

MOST_TIMES = 1e4
"""No more of a pipeline's load is planned for than so many times what all workers could serve of it and of nothing
else: what counts is that it is out of reach."""


@dataclass(frozen=True)
class ClusterProblem:
    """``pipelines`` are of the endpoints that can be planned for; ``left_out`` says by name why another one cannot."""

    pipelines: tuple[PipelineProblem, ...]
    left_out: Mapping[str, str]


def stages_of(endpoint: Endpoint) -> tuple[Stage, ...]:
    """An endpoint's stages; one without any is a pipeline of one stage."""
    return endpoint.stages or (Stage(ONLY_STAGE, (), endpoint.candidates),)


def needed_bytes(cluster: Cluster, candidate: Candidate) -> float:
    """Memory of what a worker must hold for it."""
    return sum(cluster.memory_bytes.get(variant, 0) for variant in candidate.needs)


def worker_costs(cluster: Cluster, observation: Observation) -> dict[str, float]:
    """By device type what a worker costs that the planner may do without: its price, or 1 each where no pool has one.

    Workers of pools of a fixed size are there anyway and cost nothing: to spare them, batches would only be larger. A
    price of infinity, where none is to be had, is for new workers; those that are there cost what the pool says.
    """
    prices = {pool.device: observation.prices_per_h.get(pool.device, pool.price_per_h) for pool in cluster.pools}
    known = {
        pool.device: pool.price_per_h if prices[pool.device] == inf else prices[pool.device] for pool in cluster.pools
    }
    costs = known if any(known.values()) else dict.fromkeys(known, 1.0)
    return {pool.device: 0.0 if pool.max_workers is None else costs[pool.device] for pool in cluster.pools}


def workers_of(cluster: Cluster, observation: Observation) -> Workers:
    """How many workers of each pool there may be: those that are there, or as many as its size may be.

    Where none is to be had now it is no more than are there.
    """
    there = list(observation.devices.values())
    limits = {}
    for pool in cluster.pools:
        count = there.count(pool.device)
        limits[pool.device] = count if pool.max_workers is None else pool.max_workers
        if observation.prices_per_h.get(pool.device) == inf:
            limits[pool.device] = min(limits[pool.device], count)
    return Workers(limits)


def problem_of(
    cluster: Cluster, observation: Observation, demand_qps: Mapping[str, float], definition: Accuracy
) -> ClusterProblem:
    """A pipeline for each endpoint, with the variants that fit a worker's memory, at the load observed.

    Loads are within what a solver can reckon with: `LEAST_QPS` and `MOST_TIMES`.
    Left out are endpoints with a stage that has no variant for any pool, as where the last one could not be loaded
    lately, and those whose variants have no accuracy of the ``definition`` (`accuracy_of`).
    """
    costs, workers = worker_costs(cluster, observation), workers_of(cluster, observation)
    pipelines: list[PipelineProblem] = []
    left_out: dict[str, str] = {}
    for endpoint in cluster.endpoints:
        options = {stage.name: _options(cluster, stage, costs) for stage in stages_of(endpoint)}
        without = next((stage for stage in stages_of(endpoint) if not options[stage.name]), None)
        if without is not None:
            left_out[endpoint.name] = _words_without_options(cluster, endpoint, without)
            continue
        jobs = _jobs_per_query(endpoint, observation)
        pipeline = PipelineProblem(
            endpoint.name,
            endpoint.slo_s,
            demand_qps[endpoint.name],
            tuple(
                StageProblem(stage.name, stage.after, options[stage.name], jobs[stage.name], stage.rows_per_job)
                for stage in stages_of(endpoint)
            ),
            _measured(endpoint) if definition == "measured" else {},
        )
        pipeline = replace(pipeline, load_qps=_plannable_qps(pipeline, workers))
        try:
            accuracy_of(pipeline, definition)
        except ConfigError as error:
            left_out[endpoint.name] = f"{endpoint.name} is left out: {error}."
        else:
            pipelines.append(pipeline)
    return ClusterProblem(tuple(pipelines), left_out)


def _jobs_per_query(endpoint: Endpoint, observation: Observation) -> dict[str, float]:
    """By stage so many as were counted, else 1; all 1 where no stage was counted to run any."""
    counted = observation.stage_shares.get(endpoint.name, {})
    jobs = {stage.name: counted.get(stage.name, 1.0) for stage in stages_of(endpoint)}
    return jobs if any(jobs.values()) else dict.fromkeys(jobs, 1.0)


def _plannable_qps(pipeline: PipelineProblem, workers: Workers) -> float:
    """The load, or the nearest that can be planned for; that of nothing stays."""
    if not pipeline.load_qps:
        return 0.0
    most_qps = inf
    for stage in pipeline.stages:
        fastest_qps: dict[str, float] = {}
        for option in stage.options:
            qps = max(stage.qps(option.candidate, rows) for rows in range(1, option.candidate.max_batch + 1))
            fastest_qps[option.device] = max(qps, fastest_qps.get(option.device, 0.0))
        borne_qps = sum(workers.limit(device) * qps for device, qps in fastest_qps.items())
        if borne_qps and stage.jobs_per_query:
            most_qps = min(most_qps, borne_qps / stage.jobs_per_query)
    return min(max(pipeline.load_qps, LEAST_QPS), MOST_TIMES * most_qps)


def _options(cluster: Cluster, stage: Stage, costs: Mapping[str, float]) -> tuple[Option, ...]:
    """What workers of some pool have the memory for; may be empty."""
    return tuple(
        Option(candidate, costs[pool.device], pool.device)
        for pool in cluster.pools
        for candidate in stage.candidates.get(pool.device, ())
        if needed_bytes(cluster, candidate) <= pool.memory_bytes
    )


def _words_without_options(cluster: Cluster, endpoint: Endpoint, stage: Stage) -> str:
    """Why a stage has none: a pool may have variants that are too large for its workers, or no pool has any."""
    name = f"stage {stage.name!r} of {endpoint.name}" if stage.name else endpoint.name
    known = {each.variant: None for pool in cluster.pools for each in stage.candidates.get(pool.device, ())}
    pools = ", ".join(pool.device for pool in cluster.pools) or "there are none"
    if known:
        return (
            f"{endpoint.name} is left out: no variant of {name} fits a pool ({pools}), for {', '.join(known)} would "
            "need more memory: give workers more, or register a smaller variant."
        )
    return (
        f"{endpoint.name} is left out: there is no variant of {name} for any pool ({pools}): what could not be loaded "
        "is tried again later; else register one."
    )


def _measured(endpoint: Endpoint) -> Mapping[tuple[str, ...], float]:
    """What was measured of a pipeline; of a single stage it is what its variants have."""
    if endpoint.stages:
        return endpoint.measured_accuracy
    return {(c.variant,): c.accuracy for own in endpoint.candidates.values() for c in own}
