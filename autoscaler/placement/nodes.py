"""Workers that stand on one node, and what they do to each other's latency."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from autoscaler.placement.interference import Interference
from dispatch.worker_info import WorkerInfo
from predictor.configuration import Configuration

Variants = frozenset[str]


class Node(NamedTuple):
    """A machine, its type as interference is measured for, and the workers that stand there, by id."""

    name: str
    machine: str
    workers: tuple[str, ...]


def shared_nodes(workers: Mapping[str, WorkerInfo]) -> tuple[Node, ...]:
    """The nodes with more than one worker, in the order of their names.

    Workers whose node is unknown have it to themselves. Where workers of one node name different machine types, as for
    a GPU and the CPU beside it, only those of the same type disturb each other.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for worker, info in workers.items():
        if info.node:
            found.setdefault((info.node, info.machine), []).append(worker)
    return tuple(
        Node(name, machine, tuple(sorted(own))) for (name, machine), own in sorted(found.items()) if len(own) > 1
    )


class Occupant(NamedTuple):
    """A worker of a node: what it holds, and which of that it runs. One that runs nothing disturbs nobody."""

    holds: Variants
    runs: Variants


class Occupied(NamedTuple):
    """A machine type and the workers on one machine of it."""

    machine: str
    occupants: tuple[Occupant, ...]


@dataclass(frozen=True)
class NodeSlowdowns:
    """How many times longer than alone variants take beside what the other workers of their node run.

    A neighbour counts in full, as if it ran all the time: a batch has to be in time beside one that does. Of several
    variants that a neighbour runs by turns the worst for the variant in question counts, by their slowdowns in pairs.
    That is exact where workers run one variant each, and an upper bound where harm adds up.
    """

    interference: Interference

    def of(self, nodes: Sequence[Occupied]) -> list[tuple[dict[str, float], ...]]:
        """For each machine and worker the slowdowns of all that the worker holds, by variant.

        The interference is asked twice at most, for all of them at once.
        """
        worst = self._worst(nodes)
        asked: dict[Configuration, tuple[float, ...]] = {}
        places = []
        for machine, occupants in nodes:
            for position, occupant in enumerate(occupants):
                beside = [other.runs for other in (*occupants[:position], *occupants[position + 1 :]) if other.runs]
                for variant in sorted(occupant.holds):
                    others = sorted(worst[machine, variant, runs] for runs in beside)
                    places.append(Configuration(machine, (variant, *others)))
                    asked[places[-1]] = ()
        answers = dict(zip(asked, self.interference.slowdowns(list(asked)), strict=True))
        values = iter([answers[place][0] for place in places])
        return [
            tuple({variant: next(values) for variant in sorted(occupant.holds)} for occupant in occupants)
            for _, occupants in nodes
        ]

    def _worst(self, nodes: Sequence[Occupied]) -> dict[tuple[str, str, Variants], str]:
        """By machine type, variant and what a neighbour runs, the variant of these that harms the most."""
        pairs: dict[Configuration, float] = {}
        wanted: dict[tuple[str, str, Variants], None] = {}
        for machine, occupants in nodes:
            running = {occupant.runs for occupant in occupants if occupant.runs}
            for variant in {variant for occupant in occupants for variant in occupant.holds}:
                for runs in running:
                    wanted[machine, variant, runs] = None
                    if len(runs) > 1:
                        pairs |= {Configuration(machine, (variant, other)): 1.0 for other in sorted(runs)}
        if pairs:
            answers = self.interference.slowdowns(list(pairs))
            pairs = {pair: answer[0] for pair, answer in zip(pairs, answers, strict=True)}
        return {
            (machine, variant, runs): max(
                sorted(runs), key=lambda other: pairs.get(Configuration(machine, (variant, other)), 1.0)
            )
            for machine, variant, runs in wanted
        }
