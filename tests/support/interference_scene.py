"""Laws of interference, and placements by trying all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from autoscaler.placement.machine import Machine
from dispatch.worker_info import WorkerInfo
from predictor.configuration import Configuration


@dataclass
class PressureLaw:
    """A variant takes longer by its sensitivity times the pressures of the others, more so on some machine types.

    ``asked`` counts the configurations that were asked for.
    """

    pressure: Mapping[str, float]
    sensitivity: Mapping[str, float] = field(default_factory=dict)
    machine: Mapping[str, float] = field(default_factory=dict)
    asked: int = 0

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        self.asked += len(configurations)
        return [
            tuple(
                1.0
                + self.machine.get(each.machine, 1.0)
                * self.sensitivity.get(variant, 1.0)
                * sum(self.pressure[other] for other in each.beside(position))
                for position, variant in enumerate(each.variants)
            )
            for each in configurations
        ]


@dataclass
class PairLaw:
    """Slowdowns of a variant by the one beside it; several beside it add up. What is not said is 0."""

    added: Mapping[tuple[str, str], float]

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        return [
            tuple(
                1.0 + sum(self.added.get((variant, other), 0.0) for other in each.beside(position))
                for position, variant in enumerate(each.variants)
            )
            for each in configurations
        ]


def every_placement(variants: Sequence[str], machines: Sequence[Machine]) -> Iterator[tuple[str, ...]]:
    """All that keep to the machines' room."""
    for chosen in product(machines, repeat=len(variants)):
        if all(chosen.count(machine) <= machine.room for machine in set(chosen)):
            yield tuple(machine.name for machine in chosen)


def on_nodes(*counts: int, device: str = "cpu", machine: str = "m") -> dict[str, WorkerInfo]:
    """Workers w0, w1, ... on nodes n0, n1, ... with so many each."""
    nodes = [f"n{number}" for number, count in enumerate(counts) for _ in range(count)]
    return {f"w{number}": WorkerInfo(device, node=node, machine=machine) for number, node in enumerate(nodes)}
