"""Greedy scaling, one worker at a time (INFaaS with accuracy for its cost, Proteus, section 6.1.1)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.baselines.workers import Option, options_of, plan_of, proportional


@dataclass(frozen=True)
class InfaasPlanner:
    """Endpoints take their steps in turn: the cheapest step first, where the cost is the accuracy that it drops.

    Where its workers cannot serve ``headroom`` times its demand, an endpoint either takes an idle worker (replicates)
    or changes the variant of one of its own for a faster one (downgrades), whichever loses the least accuracy per
    query gained, until it can or nothing is left. Where they can, it upgrades a worker, or gives one back, as long as
    they still can with ``hysteresis`` times as much. No worker is taken from another endpoint: the rule looks at one
    endpoint at a time, and so ends in local optima. Workers that nobody needs serve who had them, or else who has the
    least room, with the most accurate variant until another takes them: they cost nothing in pools of a fixed size.
    """

    cluster: Cluster
    headroom: float
    hysteresis: float = 1.2
    name: ClassVar[str] = "infaas_accuracy"

    def plan(self, observation: Observation) -> ClusterPlan:
        """What the workers hold, changed where an endpoint must or can."""
        options = options_of(self.cluster)
        demand_qps = self.cluster.demand_qps(observation)
        chosen = self._present(observation, options)
        before = dict(chosen)
        for name in demand_qps:
            needed_qps = demand_qps[name] * self.headroom
            _relax(name, needed_qps * self.hysteresis, observation.devices, chosen, options)
        for name in demand_qps:
            _grow(name, demand_qps[name] * self.headroom, observation.devices, chosen, options)
        for worker in sorted(observation.devices.keys() - chosen.keys()):
            had = before.get(worker)
            wanted = demand_qps if had is None else {had.endpoint: demand_qps[had.endpoint]}
            spare = _helping(observation.devices[worker], wanted, chosen, options)
            if spare is not None:
                chosen[worker] = spare
        shares = proportional(demand_qps, chosen)
        return plan_of(observation, demand_qps, chosen, shares, "Each endpoint took the cheapest step at a time.")

    def _present(
        self, observation: Observation, options: Mapping[tuple[str, str], tuple[Option, ...]]
    ) -> dict[str, Option]:
        """What each worker holds now, as an option; workers that hold nothing useful are idle."""
        chosen = {}
        for worker, device in sorted(observation.devices.items()):
            held = observation.held.get(worker, frozenset())
            for endpoint in self.cluster.endpoints:
                for option in options.get((device, endpoint.name), ()):
                    if option.variant in held:
                        chosen[worker] = option
        return chosen


def _grow(
    name: str,
    needed_qps: float,
    workers: Mapping[str, str],
    chosen: dict[str, Option],
    options: Mapping[tuple[str, str], tuple[Option, ...]],
) -> None:
    while sum(o.qps for o in chosen.values() if o.endpoint == name) < needed_qps:
        steps = list(_steps(name, workers, chosen, options))
        if not steps:
            return
        _, worker, option = min(steps, key=lambda step: (step[0], step[1], step[2].variant))
        chosen[worker] = option


def _helping(
    device: str,
    demand_qps: Mapping[str, float],
    chosen: Mapping[str, Option],
    options: Mapping[tuple[str, str], tuple[Option, ...]],
) -> Option | None:
    """The most accurate option of such a worker for the endpoint that has the least room; None where it has none."""
    able = [name for name in demand_qps if options.get((device, name))]
    borne = {name: max(sum(o.qps for o in chosen.values() if o.endpoint == name), 1e-9) for name in able}
    busiest = max(able, key=lambda name: (demand_qps[name] / borne[name], name), default=None)
    return None if busiest is None else max(options[device, busiest], key=lambda option: (option.accuracy, option.qps))


def _steps(
    name: str,
    workers: Mapping[str, str],
    chosen: Mapping[str, Option],
    options: Mapping[tuple[str, str], tuple[Option, ...]],
) -> Iterator[tuple[float, str, Option]]:
    """Accuracy lost per query per second gained, the worker, and what it would hold."""
    best = max((o.accuracy for (_, of), own in options.items() if of == name for o in own), default=0.0)
    for worker, device in workers.items():
        present = chosen.get(worker)
        for option in options.get((device, name), ()):
            if present is None:
                yield best - option.accuracy, worker, option
            elif present.endpoint == name and option.qps > present.qps * (1 + 1e-9):
                lost = (best - option.accuracy) * option.qps - (best - present.accuracy) * present.qps
                yield max(lost, 0.0) / (option.qps - present.qps), worker, option


def _relax(
    name: str,
    needed_qps: float,
    workers: Mapping[str, str],
    chosen: dict[str, Option],
    options: Mapping[tuple[str, str], tuple[Option, ...]],
) -> None:
    """Upgrade the least accurate workers, then give back those that are not needed, again the least accurate first."""
    own = sorted((o.accuracy, worker) for worker, o in chosen.items() if o.endpoint == name)
    spare_qps = sum(chosen[worker].qps for _, worker in own) - needed_qps
    for _, worker in own:
        present = chosen[worker]
        for option in options[workers[worker], name]:
            if option.accuracy <= present.accuracy:
                break
            if present.qps - option.qps <= spare_qps:
                spare_qps -= present.qps - option.qps
                chosen[worker] = option
                break
    own = sorted((chosen[worker].accuracy, worker) for _, worker in own)
    for _, worker in own[:-1]:
        if chosen[worker].qps <= spare_qps:
            spare_qps -= chosen.pop(worker).qps
