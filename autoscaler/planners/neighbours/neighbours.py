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

ROOM = 1.5
"""With room for so many times its demand an endpoint has enough."""

BETTER = 1e-3
"""One plan is better than another where it serves so much more, relative, or as much and so much more accurately."""


class _Found(NamedTuple):
    """A plan with what it bears, and the factors that it was made with.

    It is ``kept`` where it bears all that it was made for: `ROOM` for more load included, if it has so much. It has
    ``reached`` what the planner would plan without neighbours, which no other can better.
    """

    plan: ClusterPlan
    roles: Roles
    kept: bool
    factors: Factors
    reached: bool = False

    def better_than(self, other: "_Found") -> bool:
        """It serves more, or as much more accurately; of equals the one that bears all that it was made for."""
        if (compared := _compared(self.plan, other.plan)) != 0:
            return compared > 0
        return self.kept and not other.kept


@dataclass(frozen=True)
class Neighbours:
    """A planner whose plans reckon with the predicted slowdown of every variant, and place variants by it.

    1. A plan is made with latencies as profiled, times the factors of the round; in the first there are none.
    2. Workers of one device type change their roles so that those of one node disturb each other least (`Exchange`).
    3. The slowdowns of this placement are predicted by worker and variant; a device type's factor of a variant is the
       largest of the workers that run it (`largest_factors` says why), or where none does the mean that it would have
       beside what its workers' neighbours run now.
    4. There is another plan until the factors that one was made with are within `SETTLED` of these, or until one bears
       all that it was made for and is as good as the first would be without neighbours: none can be better. After
       `ROUNDS` rounds there is no other either. A factor rises at once and falls by half the way, so that a variant
       that is harmed where it is placed is not taken for unharmed as soon as it is not.
    5. What each plan bears with its own slowdowns is worked out worker by worker (`Reckoning`); the plan that serves
       the most is taken, of those that serve as much the most accurate.
    6. Where that is less than without neighbours, and a worker harms the others of its node by more than it bears
       itself, or is too slow there for any batch in time, the same is done without it, and it is left idle if that plan
       is the better one. Pools whose size is free are left alone.
    7. All this is done as if no worker held anything, so that the same demand has the same factors whatever is in
       force; with these the planner is asked once more, for what workers hold now. Its plan and the exchanges after it
       load no more than they must, and workers stay what they are where little is to be gained.

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
        known = self.cluster.variants  # idle workers keep what they hold of these
        observation = replace(observation, held={worker: own & known for worker, own in observation.held.items()})
        found = self._settle(replace(observation, held={}))
        if isinstance(found, NoPlan):
            return found
        solve_s = found.plan.report.solve_s
        fixed = {pool.device for pool in self.cluster.pools if pool.max_workers is None}
        free = {worker for worker, device in observation.devices.items() if device in fixed}
        idle: tuple[str, ...] = ()
        if not found.reached:
            late = Reckoning(self.cluster, observation.devices).late(found.plan, found.plan.slowdowns)
            harmful = workers_to_idle(nodes, found.roles, found.plan, NodeSlowdowns(self.interference), free)
            idle = tuple(sorted({*harmful, *(late & free)}))
        if idle:
            without = self._settle(replace(_without(observation, idle), held={}))
            solve_s += (without if isinstance(without, NoPlan) else without.plan).report.solve_s
            if isinstance(without, _Found) and without.better_than(found):
                found = without
            else:
                idle = ()
        if any(observation.held.values()):
            there = _without(observation, idle)
            made = self.planner_of(slowed(self.cluster, found.factors)).plan(there)
            solve_s += made.report.solve_s
            if isinstance(made, ClusterPlan):
                found, _ = self._placed(there, made, found.factors)
        if idle:
            found = self._with_idle(found, observation, idle)
        return self._explained(_solved_in(solve_s, found), nodes, idle)

    # -- inner steps ------------------------------------------------------------------------------------------

    def _settle(self, observation: Observation) -> "_Found | NoPlan":
        """The best plan of the rounds."""
        factors: Factors = {}
        best: _Found | None = None
        alone: ClusterPlan | None = None
        solve_s = 0.0
        for _ in range(ROUNDS):
            made = self.planner_of(slowed(self.cluster, factors)).plan(observation)
            solve_s += made.report.solve_s
            if isinstance(made, NoPlan):
                if best is None:
                    return made
                break
            found, own = self._placed(observation, made, factors)
            alone = alone or made
            found = found._replace(reached=_compared(found.plan, alone) >= 0)
            best = found if best is None or found.better_than(best) else best
            if _settled(factors, own) or (found.kept and found.reached):
                break
            seen = {**self._elsewhere(observation, found.roles), **own}
            factors = {key: max(factor, (factors.get(key, 1.0) + factor) / 2) for key, factor in seen.items()}
        assert best is not None
        return _solved_in(solve_s, best)

    def _placed(self, observation: Observation, made: ClusterPlan, factors: Factors) -> tuple[_Found, Factors]:
        """A plan that was made with these factors after its workers' exchanges, and the factors of its placement."""
        nodes = shared_nodes(observation.workers)
        roles = self._exchange(nodes).improved(roles_of(self.cluster, observation, made))
        placed = with_roles(made, roles)
        slowdowns, running = self._predicted(nodes, placed, roles)
        honest = Reckoning(self.cluster, observation.devices).honest(placed, slowdowns, factors)
        return _Found(honest, roles, _kept(placed, honest), factors), largest_factors(running, observation.devices)

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

    def _elsewhere(self, observation: Observation, roles: Roles) -> Factors:
        """By device type and variant the mean slowdown on all its workers, beside what their neighbours run now."""
        offered: dict[str, set[str]] = {}
        for endpoint in self.cluster.endpoints:
            for device, candidates in endpoint.candidates.items():
                offered.setdefault(device, set()).update(v for each in candidates for v in each.needs)
        asked = []
        for node in shared_nodes(observation.workers):
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
        return _Found(replace(plan, slowdowns=slowdowns), roles, found.kept, found.factors)

    def _explained(self, found: _Found, nodes: Sequence[Node], idle: Sequence[str]) -> ClusterPlan:
        running = {
            worker: occupant.runs
            for node in nodes
            for worker, occupant in zip(node.workers, _occupied(node, found.plan, found.roles).occupants, strict=True)
        }
        report = found.plan.report
        words = words_on_neighbours(nodes, found.plan.slowdowns, running, idle, found.kept)
        return replace(found.plan, report=replace(report, explanation=(*report.explanation, *words)))


def _solved_in(solve_s: float, found: _Found) -> _Found:
    return found._replace(plan=replace(found.plan, report=replace(found.plan.report, solve_s=solve_s)))


def _compared(one: ClusterPlan, other: ClusterPlan) -> int:
    """1 where the one plan serves more than the other, or as much more accurately, -1 where it is the other way."""
    served, others = (sum(each.served_qps.values()) for each in (one, other))
    if abs(served - others) > BETTER * max(served, others):
        return 1 if served > others else -1
    mine, theirs = (each.effective_accuracy or 0.0 for each in (one, other))
    return (mine > theirs + BETTER) - (mine < theirs - BETTER)


def _kept(made: ClusterPlan, honest: ClusterPlan) -> bool:
    """It serves what the planner said, and has the room that the planner said, or `ROOM` times the demand."""
    return all(
        honest.served_qps.get(name, 0.0) >= qps * (1 - BETTER)
        and honest.capacity_qps.get(name, 0.0) >= min(made.capacity_qps.get(name, 0.0), ROOM * qps) * (1 - BETTER)
        for name, qps in made.served_qps.items()
    )


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
