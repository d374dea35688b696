"""One system on one workload, in the simulator."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.observation import Observation, Statistics
from autoscaler.demand.burst import BurstTrigger
from autoscaler.demand.demand import MovingMaximum
from autoscaler.demand.forecast_demand import ForecastDemand
from autoscaler.demand.popularity import Popularity
from autoscaler.demand.recent_load import RecentLoad
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.loop.sizing import Sizing
from autoscaler.planners.cocktail.cocktail_planner import CocktailOptions, CocktailPlanner
from autoscaler.planners.registry import IDLE_TIMEOUT_S
from benchmarks.cocktail.load import WARM_S
from benchmarks.cocktail.member_sets import WINDOW
from benchmarks.cocktail.models import ASKS, MIXES
from benchmarks.cocktail.systems import ENDPOINT, System, cluster_of, flow_of, serving_plan
from benchmarks.cocktail.votes.truths import Truths
from benchmarks.cocktail.workload import Workload
from dispatch.ensemble.weights import ClassWeights
from forecast.forecaster import Forecaster
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.pools.machine_pools import MachinePools, MachineTimes
from simulator.pools.spot_market import Lease, cost_of

INTERVAL_S = 60.0
"""T_s, between two plans (section 4.2.2); violations are sampled every 10 s (`MachineTimes.report_s`)."""

VIOLATION_RATIO = 0.01
"""Of a sample, from which on a plan is asked for."""

LEVEL = 0.5
"""Of the forecast's quantiles: headroom is swept anyway."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Of one run; arrays have an element per query, in the order of arrival."""

    latency_s: NDArray[np.float64]  # infinite where there was no answer
    late: NDArray[np.bool_]
    cut_short: NDArray[np.bool_]  # answered without some that should have voted, since time was up
    right: NDArray[np.bool_]
    met: NDArray[np.bool_]  # its window of `WINDOW` is right often enough
    members: NDArray[np.intp]  # that voted
    ask: NDArray[np.intp]
    leases: Sequence[Lease]
    lost: int  # machines that were taken away
    dollars: float
    length_s: float

    @property
    def violated(self) -> NDArray[np.bool_]:
        """Late, or not what was asked for: a large ensemble that is short of machines is never late."""
        return self.late | self.cut_short


def play(system: System, workload: Workload, weights: ClassWeights, forecaster: Forecaster, headroom: float) -> Outcome:
    """Serve the workload; everything but the system's sets is the same for all."""
    pools = [pool for pool in workload.pools if not (system.on_demand and pool.preemptible)]
    cluster = cluster_of(pools)
    planner = CocktailPlanner(cluster, CocktailOptions(headroom))
    demand = _demand(workload, forecaster)
    expected = {ENDPOINT: system.expected_shares(MIXES[workload.mix])}
    prices = {pool.device: pool.offered_per_h(0.0) for pool in pools}
    popularity = Popularity(expected=expected)
    initial = planner.plan(Observation(0.0, demand.demand_qps(), {}, {}, popularity.shares(), prices))
    trigger = BurstTrigger(violation_ratio=VIOLATION_RATIO)
    loop = ControlLoop(INTERVAL_S, demand, trigger, initial, popularity)
    rng = np.random.default_rng([workload.seed, workload.part.begin_s, 1])
    control = MachinePools(loop, planner, Sizing(IDLE_TIMEOUT_S), pools, rng, MachineTimes())
    flow = flow_of(system, weights)
    truths = Truths(workload, flow.chooser, weights, flow.asked)
    latency = PlannedLatency(*cluster.endpoints)
    host = Host(
        serving_plan(cluster, flow),
        control.workers,
        latency,
        control,
        outputs=truths.outputs,
        on_answer=truths.on_answer,
    )
    record = host.run({ENDPOINT: workload.arrival_s}, workload.asked)
    length_s = float(workload.part.length_s)
    latency_s = record.done_s - record.arrival_s
    return Outcome(
        latency_s=latency_s,
        late=record.done_s > record.deadline_s,
        cut_short=truths.cut_short,
        right=truths.right,
        met=met(truths.right, workload.ask),
        members=truths.members,
        ask=workload.ask,
        leases=control.leases,
        lost=control.lost,
        dollars=cost_of(control.leases, {pool.device: pool for pool in pools}, 0.0, length_s),
        length_s=length_s,
    )


def met(right: NDArray[np.bool_], ask: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether the mean over a query and the 199 before it with its constraint reaches what that asks for.

    The first ones have windows of as many as there are.
    """
    found = np.zeros(len(right), dtype=np.bool_)
    for number, each in enumerate(ASKS):
        mine = np.flatnonzero(ask == number)
        sums = np.concatenate(([0], np.cumsum(right[mine])))
        last = np.arange(1, len(mine) + 1)
        first = np.maximum(last - WINDOW, 0)
        found[mine] = (sums[last] - sums[first]) / (last - first) >= each.accuracy
    return found


def _demand(workload: Workload, forecaster: Forecaster) -> ForecastDemand:
    """What is planned for, with the hour before the part already seen."""
    part = workload.part
    recent = RecentLoad(WARM_S, part.begin_s)
    demand = ForecastDemand(MovingMaximum(window_s=60.0, mean_s=10.0, endpoints=(ENDPOINT,)), recent, LEVEL)
    demand.use({ENDPOINT: forecaster})
    before = part.series.between(part.begin_s - WARM_S, part.begin_s)
    for at_s, qps in zip(before.times_s - part.begin_s, before.loads_qps, strict=True):
        demand.on_statistics(Statistics(float(at_s), float(at_s) + 1.0, {ENDPOINT: round(qps)}, {}))
    return demand
