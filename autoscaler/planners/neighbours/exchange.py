"""Workers that change their roles, so that those of one node disturb each other least."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from autoscaler.placement.nodes import Node, NodeSlowdowns, Occupant, Occupied, Variants
from autoscaler.planners.neighbours.roles import NOTHING, Role, Roles

LEAST_GAIN = 0.01
"""An exchange that saves less of one worker's time is not made: predictions are not that exact."""

LOADING = 0.05
"""What loading the largest variant has to save, in one worker's time; others in proportion to their memory."""

LEAST_BUSY = 0.2
"""A worker that has less to do counts as much: its batches have to be in time too."""

MOST_PASSES = 8


@dataclass(frozen=True)
class Exchange:
    """A local search over exchanges of two workers' roles.

    What is minimised is the time that neighbours cost: of every worker how busy it is (`LEAST_BUSY` to 1) times what
    its worst variant's latency is longer than alone, in sum, so 1 is one worker's whole time. To it comes `LOADING` for
    what has to be loaded beyond what workers hold now; a plan whose roles are where they were stays where it is unless
    another placement saves more than that: nothing flaps. Each worker in turn takes the exchange that gains the most,
    if it gains `LEAST_GAIN`, until none does or after `MOST_PASSES`. Deterministic.
    """

    nodes: Sequence[Node]
    slowdowns: NodeSlowdowns
    memory_bytes: Mapping[str, int]

    def improved(self, roles: Roles) -> Roles:
        """The roles after the exchanges."""
        search = _Search(self, roles)
        for _ in range(MOST_PASSES):
            exchanges = sum(search.improve(worker) for worker in sorted(roles.of))
            if not exchanges:
                break
        return replace(roles, of=search.of)

    def load_cost(self, holds: Variants, now: Variants) -> float:
        """What it takes a worker that holds the one to hold the other, in one worker's time."""
        largest = max(self.memory_bytes.values(), default=0)
        return LOADING * sum(
            self.memory_bytes.get(variant, largest) / largest if largest else 1.0 for variant in holds - now
        )


class Running(NamedTuple):
    """What the harm on a machine depends on: its type, and for each worker what it runs and how busy it is with it."""

    machine: str
    workers: tuple[tuple[tuple[str, ...], float], ...]

    @property
    def occupied(self) -> Occupied:
        """The machine with the workers that run something."""
        sets = [frozenset(variants) for variants, _ in self.workers]
        return Occupied(self.machine, tuple(Occupant(each, each) for each in sets))


class _Search:
    def __init__(self, exchange: Exchange, roles: Roles) -> None:
        self._exchange = exchange
        self._roles = roles
        self.of: dict[str, Role] = dict(roles.of)
        self._node = {worker: node for node in exchange.nodes for worker in node.workers}
        self._known: dict[Running, float] = {}

    def improve(self, worker: str) -> bool:
        """Make the exchange of this worker that gains the most, if one gains enough."""
        others = self._others(worker)
        if not others:
            return False
        needed = []
        for other in others:
            after = {worker: self.of[other], other: self.of[worker]}
            for node in self._nodes(worker, other):
                needed += [self._running(node, {}), self._running(node, after)]
        self._reckon(needed)
        gains = [self._gain(worker, other) for other in others]
        best = max(range(len(others)), key=lambda number: gains[number])
        if gains[best] < LEAST_GAIN:
            return False
        other = others[best]
        self.of[worker], self.of[other] = self.of[other], self.of[worker]
        return True

    def _others(self, worker: str) -> list[str]:
        """Workers of the same device type with another role on another node; of those that are alike the first."""
        found: dict[tuple[Role, Variants, Running | None], str] = {}
        device, own = self._roles.devices[worker], self._node.get(worker)
        for other in sorted(self.of):
            node = self._node.get(other)
            if self._roles.devices[other] != device or other == worker or (node is not None and node is own):
                continue
            if self.of[other] != self.of[worker]:
                alike = (
                    self.of[other],
                    self._roles.held.get(other, NOTHING),
                    self._running(node, {}) if node else None,
                )
                found.setdefault(alike, other)
        return list(found.values())

    def _nodes(self, worker: str, other: str) -> list[Node]:
        return [node for each in (worker, other) if (node := self._node.get(each)) is not None]

    def _gain(self, worker: str, other: str) -> float:
        mine, theirs = self.of[worker], self.of[other]
        after = {worker: theirs, other: mine}
        gain = 0.0
        for node in self._nodes(worker, other):
            gain += self._known[self._running(node, {})] - self._known[self._running(node, after)]
        now = self._roles.held
        for each, before, then in ((worker, mine, theirs), (other, theirs, mine)):
            held = now.get(each, NOTHING)
            gain += self._exchange.load_cost(before.holds, held) - self._exchange.load_cost(then.holds, held)
        return gain

    def _running(self, node: Node, after: Mapping[str, Role]) -> Running:
        """The node as it is, or after some workers have changed their roles."""
        roles = [after.get(each, self.of[each]) for each in node.workers if each in self.of]
        return Running(
            node.machine, tuple(sorted((tuple(sorted(role.holds)), role.busy) for role in roles if role.busy))
        )

    def _reckon(self, nodes: Sequence[Running]) -> None:
        """Find the harm on all nodes that it is not known of, at once."""
        unknown = [each for each in dict.fromkeys(nodes) if each not in self._known]
        slowdowns = self._exchange.slowdowns.of([each.occupied for each in unknown])
        for each, workers in zip(unknown, slowdowns, strict=True):
            self._known[each] = sum(
                max(busy, LEAST_BUSY) * (max(own.values()) - 1.0)
                for (_, busy), own in zip(each.workers, workers, strict=True)
            )
