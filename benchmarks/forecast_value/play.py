"""A policy on a part of the load, in the simulator."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.observation import Observation, Statistics
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.loop.sizing import Sizing
from benchmarks.forecast_value.parts import LEAD_S, LENGTH_S, Part
from benchmarks.forecast_value.policies import Policy
from benchmarks.forecast_value.service import (
    DEVICE,
    ENDPOINT,
    INTERVAL_S,
    SHRINK_AFTER_S,
    START_S,
    VARIANT,
    HeadroomPlanner,
    serving_plan,
)
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.pools.elastic_pool import ElasticPool, PoolSize, PoolTimes, worker_seconds


@dataclass(frozen=True, eq=False)
class Outcome:
    """Of one part, its lead left out: queries, those in violation, and worker-seconds.

    ``sizes`` are of the pool, lead included, from which on instants count; ``violated`` counts by second of arrival.
    """

    queries: int
    violations: int
    worker_s: float
    sizes: Sequence[PoolSize]
    violated: NDArray[np.int64]


def play(policy: Policy, number: int, part: Part, headroom: float, most_workers: int, seed: int) -> Outcome:
    """Serve the part of that number with what the policy plans for, times ``headroom``."""
    demand, planner = policy.demand(number, part), HeadroomPlanner(headroom)
    initial = planner.plan(Observation(0.0, demand.demand_qps(), {}, {}))
    loop = ControlLoop(INTERVAL_S, demand, None, initial)
    workers = [f"{DEVICE}-{index:03d}" for index in range(most_workers)]
    plan, times = serving_plan(), PoolTimes(start_s=START_S)
    pool = ElasticPool(
        loop, planner, Sizing(SHRINK_AFTER_S), plan, DEVICE, workers, frozenset([VARIANT.variant]), times
    )
    host = Host(plan, dict.fromkeys(workers, DEVICE), PlannedLatency(*plan.endpoints.values()), pool)
    record = host.run({ENDPOINT: part.arrivals_s(seed)})
    late = record.arrival_s[record.done_s > record.deadline_s].astype(np.int64)
    violated = np.bincount(late, minlength=LEAD_S + LENGTH_S)
    return Outcome(
        queries=int(part.played[LEAD_S:].sum()),
        violations=int(violated[LEAD_S:].sum()),
        worker_s=worker_seconds(pool.sizes, LEAD_S, LEAD_S + LENGTH_S),
        sizes=pool.sizes,
        violated=violated,
    )


def demands_qps(policy: Policy, number: int, part: Part) -> list[float]:
    """What the policy plans for at its beginning and at each decision; no headroom changes that."""
    demand = policy.demand(number, part)
    found = [demand.demand_qps()[ENDPOINT]]
    for second, count in enumerate(part.played.tolist()):
        demand.on_statistics(Statistics(second, second + 1, {ENDPOINT: count}, {}))
        if (second + 1) % int(INTERVAL_S) == 0:
            found.append(demand.demand_qps()[ENDPOINT])
    return found


def worker_s(demands: Sequence[float], headroom: float, most_workers: int) -> float:
    """The worker-seconds of `play`, from the demands alone."""
    planner, sizing = HeadroomPlanner(headroom), Sizing(SHRINK_AFTER_S)

    def wanted(demand_qps: float) -> int:
        plan: ClusterPlan = planner.sized(demand_qps)
        return min(plan.pool_sizes[DEVICE], most_workers)

    sizes = [PoolSize(0.0, wanted(demands[0]), 0)]
    for step, demand_qps in enumerate(demands[1:], start=1):
        now_s = step * INTERVAL_S
        size = sizing.decide({DEVICE: wanted(demand_qps)}, {DEVICE: sizes[-1].asked}, now_s)[DEVICE]
        sizes.append(PoolSize(now_s, size, 0))
    return worker_seconds(sizes, LEAD_S, LEAD_S + LENGTH_S)
