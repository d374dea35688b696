"""Several variants placed on machines at once."""

from collections.abc import Iterator, Sequence
from math import inf, isfinite

import numpy as np

from autoscaler.placement.machine import LatencySum, Machine
from autoscaler.placement.machine_costs import MachineCosts
from predictor.configuration import Configuration

MOST_STEPS = 400_000
"""The exact search takes ``machines * 3**variants`` steps: 10 variants on 6 machines, some 0.3 s."""

LEAST_GAIN = 1e-9
"""Relative: a change that gains less is none."""

Placement = tuple[str, ...]
"""The machine of each variant."""


def one_by_one(variants: Sequence[str], machines: Sequence[Machine], cost: LatencySum) -> Placement:
    """Each variant in turn where it costs the least beside those placed before it: the scheduler of section 3.3.

    Raises ValueError where a variant finds no machine that takes it.
    """
    costs = MachineCosts(variants, machines, cost)
    placed = []
    for variant in variants:
        machine = costs.place(variant)
        if machine is None:
            raise ValueError(f"no machine takes {variant!r}; add one with room that it has a latency on")
        costs.add(variant, machine)
        placed.append(machine)
    return tuple(placed)


def joint(variants: Sequence[str], machines: Sequence[Machine], cost: LatencySum) -> Placement:
    """The placement of all variants with the least ``cost`` in sum over the machines.

    What is minimised is what ``cost`` sums: predicted latencies, as the paper's C does, so that placing one variant and
    placing all have one objective. With queries per second for weights this is the time that machines are busy, which
    is what bounds the load they bear; a mean of slowdowns would let a variant of 2 ms count as much as one of 200 ms.

    Exact where there is little to try: over subsets of the variants, machine by machine. Else a local search that
    starts with `one_by_one`, slowest variants first, and goes on with each variant's move or exchange that gains the
    most until none does. Deterministic; of equals the first. Raises ValueError where not everything can be placed, or
    where the start of the local search finds no room for all.
    """
    if not variants:
        return ()
    if len(machines) * 3 ** len(variants) <= MOST_STEPS:
        return _exact(variants, machines, cost)
    return _improved(variants, machines, cost)


def placement_cost(
    variants: Sequence[str], machines: Sequence[Machine], placement: Placement, cost: LatencySum
) -> float:
    """What a placement costs, in sum over the machines; infinite where a variant cannot run where it is placed."""
    return float(cost.of(_configurations(variants, machines, placement)).sum())


def _configurations(variants: Sequence[str], machines: Sequence[Machine], placement: Placement) -> list[Configuration]:
    there: dict[str, list[str]] = {machine.name: [] for machine in machines}
    for variant, name in zip(variants, placement, strict=True):
        there[name].append(variant)
    return [Configuration(machine.type, tuple(sorted(there[machine.name]))) for machine in machines]


def _exact(variants: Sequence[str], machines: Sequence[Machine], cost: LatencySum) -> Placement:
    """``best[placed]`` is the least cost of having the variants in the bit set ``placed`` on the machines so far."""
    size = 1 << len(variants)
    members = [tuple(v for bit, v in enumerate(variants) if chosen >> bit & 1) for chosen in range(size)]
    types = sorted({machine.type for machine in machines})
    most = {type_: max(machine.room for machine in machines if machine.type == type_) for type_ in types}
    sets = [(type_, chosen) for type_ in types for chosen in range(size) if len(members[chosen]) <= most[type_]]
    of = cost.of([Configuration(type_, members[chosen]) for type_, chosen in sets])
    costs = {type_: [inf] * size for type_ in types}
    for (type_, chosen), each in zip(sets, of.tolist(), strict=True):
        costs[type_][chosen] = each
    best = [0.0, *[inf] * (size - 1)]
    taken: list[list[int]] = []
    for machine in machines:
        own = costs[machine.type]
        after, choice = list(best), [0] * size
        for placed in range(size):
            for chosen in _subsets(placed):
                if len(members[chosen]) <= machine.room:
                    total = best[placed ^ chosen] + own[chosen]
                    if total < after[placed] * (1 - LEAST_GAIN):
                        after[placed], choice[placed] = total, chosen
        best = after
        taken.append(choice)
    if not isfinite(best[-1]):
        raise ValueError(f"no placement of {', '.join(variants)} on {len(machines)} machines; add room")
    found = [""] * len(variants)
    placed = size - 1
    for machine, choice in zip(reversed(machines), reversed(taken), strict=True):
        for bit in range(len(variants)):
            if choice[placed] >> bit & 1:
                found[bit] = machine.name
        placed ^= choice[placed]
    return tuple(found)


def _subsets(placed: int) -> Iterator[int]:
    """All of a bit set's subsets but the empty one, the largest first."""
    chosen = placed
    while chosen:
        yield chosen
        chosen = (chosen - 1) & placed


def _improved(variants: Sequence[str], machines: Sequence[Machine], cost: LatencySum) -> Placement:
    slowest_s = dict.fromkeys(variants, 0.0)
    for (_, variant), alone_s in cost.alone_s.items():
        if variant in slowest_s:
            slowest_s[variant] = max(slowest_s[variant], alone_s)
    order = sorted(range(len(variants)), key=lambda number: -slowest_s[variants[number]])
    start = one_by_one([variants[number] for number in order], machines, cost)
    search = _Search(variants, machines, cost, dict(zip(order, start, strict=True)))
    while any(search.improve(number) for number in range(len(variants))):
        pass
    return tuple(search.place[number] for number in range(len(variants)))


class _Search:
    """A placement that is improved by one variant's move, or its exchange with another, at a time."""

    def __init__(
        self, variants: Sequence[str], machines: Sequence[Machine], cost: LatencySum, place: dict[int, str]
    ) -> None:
        self.place = place
        self._variants = variants
        self._machines = {machine.name: machine for machine in machines}
        self._cost = cost
        self._there: dict[str, list[int]] = {machine.name: [] for machine in machines}
        for number, name in place.items():
            self._there[name].append(number)

    def improve(self, number: int) -> bool:
        """Make the change of the variant that gains the most, if one does."""
        changes = list(self._changes(number))
        if not changes:
            return False
        own = self._there[self.place[number]]
        names = list(self._machines)
        before_s = self._cost.of([self._configuration(name, self._there[name]) for name in names])
        now_s = dict(zip(names, before_s.tolist(), strict=True))
        after = [each for name, other in changes for each in self._after(number, name, other)]
        after_s = self._cost.of(after).reshape(-1, 2).sum(axis=1)
        gains_s = now_s[self.place[number]] + np.array([now_s[name] for name, _ in changes]) - after_s
        best = int(gains_s.argmax())
        if gains_s[best] <= LEAST_GAIN * before_s.sum():
            return False
        name, other = changes[best]
        own.remove(number)
        self._there[name].append(number)
        if other is not None:
            self._there[name].remove(other)
            own.append(other)
            self.place[other] = self.place[number]
        self.place[number] = name
        return True

    def _changes(self, number: int) -> Iterator[tuple[str, int | None]]:
        """Where the variant could go, and in exchange for which other one."""
        for name, machine in self._machines.items():
            if name != self.place[number]:
                if len(self._there[name]) < machine.room:
                    yield name, None
                for other in self._there[name]:
                    yield name, other

    def _after(self, number: int, name: str, other: int | None) -> tuple[Configuration, Configuration]:
        """What runs on the variant's machine and on the other one after the change."""
        left = [each for each in self._there[self.place[number]] if each != number]
        right = [each for each in self._there[name] if each != other]
        left += [] if other is None else [other]
        return self._configuration(self.place[number], left), self._configuration(name, [*right, number])

    def _configuration(self, name: str, numbers: Sequence[int]) -> Configuration:
        return Configuration(self._machines[name].type, tuple(sorted(self._variants[each] for each in numbers)))
