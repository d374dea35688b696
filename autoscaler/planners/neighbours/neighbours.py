"""Any planner, with what workers of one node do to each other's latency (Mendoza et al., section 3.3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.placement.interference import Interference
from autoscaler.placement.nodes import Node, NodeSlowdowns, Occupant, Occupied, shared_nodes
from autoscaler.placement.slowed import Factors, largest_factors, slowed
from autoscaler.planners.neighbours.exchange import Exchange
from autoscaler.planners.neighbours.honest import Reckoning
from autoscaler.planners.neighbours.idling import workers_to_idle
from autoscaler.planners.neighbours.roles import IDLE, NOTHING, Roles, roles_of, with_roles
from autoscaler.planners.neighbours.words import words_on_neighbours
from autoscaler.planners.planner import Planner

ROUNDS = 4
"""Plans that are made at most before the best of them is taken; as many again where workers are left idle."""

SETTLED = 0.05
"""Factors have settled when none of a variant that runs is further from the one reckoned with, relative to it."""

BETTER = 1e-3
"""One plan is better than another where it serves so much more, relative, or as much and so much more accurately."""


class _Found(NamedTuple):
    """A plan with what it bears, and whether the factors that it was made with are those of its own placement."""

    plan: ClusterPlan
    roles: Roles
    settled: bool

    def better_than(self, other: "_Found") -> bool:
        """It serves more, or as much more accurately; of equals the one that has settled."""
        served, others = (sum(each.plan.served_qps.values()) for each in (self, other))
        if abs(served - others) > BETTER * max(served, others):
            return served > others
        mine, theirs = (each.plan.effective_accuracy or 0.0 for each in (self, other))
        return mine > theirs + BETTER or (mine > theirs - BETTER and self.settled and not other.settled)


@dataclass(frozen=True)
class Neighbours:
    """A planner whose plans reckon with the predicted slowdown of every variant, and place variants by it.

    1. A plan is made with latencies as profiled, times the factors of the round; in the first there are none.
    2. Workers of one device type change their roles so that those of one node disturb each other least (`Exchange`).
    3. The slowdowns of this placement are predicted by worker and variant; a device type's factor of a variant is the
       largest of the workers that run it (`largest_factors` says why), or where none does the mean that it would have
       beside what its workers' neighbours run now.
    4. Until the factors that the plan was made with are within `SETTLED` of these, or after `ROUNDS` rounds, there is
       another plan. A factor rises at once and falls by half the way, so that a variant that is harmed where it is
       placed is not taken for unharmed as soon as it is not.
    5. What each plan bears with its own slowdowns is worked out worker by worker (`Reckoning`); the plan that serves
       the most is taken, of those that serve as much the most accurate.
    6. Where a worker harms the others of its node by more than it bears itself, the same is done without it, and it is
       left idle if that plan is the better one. Pools whose size is free are left alone.

    On nodes with one worker nothing is done, and without any other the plan is the planner's own.
    """

    planner_of: Callable[[Cluster], Planner]
    cluster: Cluster
    interference: Interference

    @property
    def name(self) -> str:
        """The name of the planner that makes the plans."""
        return self.planner_of(self.cluster).name

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        """The plan, with `ClusterPlan.slowdowns` of all workers that share a node.

        No plan only where the planner has none in the first round. Raises what the planner raises.
        """
        nodes = shared_nodes(observation.workers)
        if not nodes:
            return self.planner_of(self.cluster).plan(observation)
        found = self._settle(observation)
        if isinstance(found, NoPlan):
            return found
        fixed = {pool.device for pool in self.cluster.pools if pool.max_workers is None}
        free = {worker for worker, device in observation.devices.items() if device in fixed}
        idle = workers_to_idle(nodes, found.roles, found.plan, NodeSlowdowns(self.interference), free)
        if idle:
            without = self._settle(_without(observation, idle))
            if isinstance(without, _Found) and without.better_than(found):
                return self._explained(self._with_idle(without, observation, idle), nodes, idle)
        return self._explained(found, nodes, ())

    # -- inner steps ------------------------------------------------------------------------------------------

    def _settle(self, observation: Observation) -> "_Found | NoPlan":
        """The best plan of the rounds."""
        nodes = shared_nodes(observation.workers)
        factors: Factors = {}
        best: _Found | None = None
        solve_s = 0.0
        for _ in range(ROUNDS):
            made = self.planner_of(slowed(self.cluster, factors)).plan(observation)
            solve_s += made.report.solve_s
            if isinstance(made, NoPlan):
                if best is None:
                    return NoPlan(replace(made.report, solve_s=solve_s))
                break
            roles = self._exchange(nodes).improved(roles_of(self.cluster, observation, made))
            placed = with_roles(made, roles)
            slowdowns, running = self._predicted(nodes, placed, roles)
            own = largest_factors(running, observation.devices)
            settled = _settled(factors, own)
            honest = Reckoning(self.cluster, observation.devices).honest(placed, slowdowns, factors)
            found = _Found(honest, roles, settled)
            if best is None or found.better_than(best):
                best = found
            if settled:
                break
            seen = {**self._elsewhere(nodes, observation, roles), **own}
            factors = {key: max(seen.get(key, 1.0), (factors.get(key, 1.0) + seen.get(key, 1.0)) / 2) for key in seen}
        assert best is not None
        return best._replace(plan=replace(best.plan, report=replace(best.plan.report, solve_s=solve_s)))

    def _exchange(self, nodes: Sequence[Node]) -> Exchange:
        return Exchange(nodes, NodeSlowdowns(self.interference), self.cluster.memory_bytes)

    def _predicted(
        self, nodes: Sequence[Node], plan: ClusterPlan, roles: Roles
    ) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
        """By worker and variant the slowdowns of what it holds, and of what it runs."""
        occupied = [_occupied(node, plan, roles) for node in nodes]
        slowdowns, running = {}, {}
        for node, there, own in zip(nodes, occupied, NodeSlowdowns(self.interference).of(occupied), strict=True):
            for worker, occupant, each in zip(node.workers, there.occupants, own, strict=True):
                if each:
                    slowdowns[worker] = each
                    running[worker] = {variant: factor for variant, factor in each.items() if variant in occupant.runs}
        return slowdowns, running

    def _elsewhere(self, nodes: Sequence[Node], observation: Observation, roles: Roles) -> Factors:
        """By device type and variant the mean slowdown on all its workers, beside what their neighbours run now."""
        offered: dict[str, set[str]] = {}
        for endpoint in self.cluster.endpoints:
            for device, candidates in endpoint.candidates.items():
                offered.setdefault(device, set()).update(v for each in candidates for v in each.needs)
        asked = []
        for node in nodes:
            for worker in node.workers:
                everything = frozenset(offered.get(observation.devices.get(worker, ""), ()))
                beside = [roles.occupant(other) for other in node.workers if other != worker]
                asked.append((worker, Occupied(node.machine, (Occupant(everything, NOTHING), *beside))))
        summed: dict[tuple[str, str], float] = {}
        answers = NodeSlowdowns(self.interference).of([occupied for _, occupied in asked])
        there = list(observation.devices.values())
        for (worker, _), (own, *_) in zip(asked, answers, strict=True):
            device = observation.devices[worker]
            for variant, factor in own.items():
                summed[device, variant] = summed.get((device, variant), 0.0) + factor - 1.0
        return {(device, variant): 1.0 + added / there.count(device) for (device, variant), added in summed.items()}

    def _with_idle(self, found: _Found, observation: Observation, idle: Sequence[str]) -> _Found:
        """The plan with the idle workers, which go on holding what they hold."""
        devices = observation.devices
        there = list(devices.values())
        sizes = {**found.plan.pool_sizes, **{devices[worker]: there.count(devices[worker]) for worker in idle}}
        roles = replace(found.roles, of={**found.roles.of, **dict.fromkeys(idle, IDLE)}, held=observation.held)
        plan = replace(with_roles(found.plan, roles), pool_sizes=sizes)
        slowdowns, _ = self._predicted(shared_nodes(observation.workers), plan, roles)
        return _Found(replace(plan, slowdowns=slowdowns), roles, found.settled)

    def _explained(self, found: _Found, nodes: Sequence[Node], idle: Sequence[str]) -> ClusterPlan:
        running = {
            worker: occupant.runs
            for node in nodes
            for worker, occupant in zip(node.workers, _occupied(node, found.plan, found.roles).occupants, strict=True)
        }
        report = found.plan.report
        words = words_on_neighbours(nodes, found.plan.slowdowns, running, idle, found.settled)
        return replace(found.plan, report=replace(report, explanation=(*report.explanation, *words)))


def _settled(reckoned: Factors, own: Factors) -> bool:
    return all(abs(reckoned.get(key, 1.0) - factor) <= SETTLED * factor for key, factor in own.items())


def _occupied(node: Node, plan: ClusterPlan, roles: Roles) -> Occupied:
    """What runs on a node; workers without a role are those that a plan can spare, which serve as long as they stay."""
    return Occupied(
        node.machine,
        tuple(
            roles.occupant(worker)
            if worker in roles.of
            else Occupant(plan.held.get(worker, NOTHING), plan.held.get(worker, NOTHING))
            for worker in node.workers
        ),
    )


def _without(observation: Observation, idle: Sequence[str]) -> Observation:
    return replace(observation, workers={w: info for w, info in observation.workers.items() if w not in idle})
