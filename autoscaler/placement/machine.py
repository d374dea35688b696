"""Machines that variants are placed on, and what all that run there take together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoscaler.placement.interference import Interference
from predictor.configuration import Configuration


class Machine(NamedTuple):
    """A machine of a type, with room for so many variants at a time."""

    name: str
    type: str
    room: int


@dataclass(frozen=True)
class LatencySum:
    """The predicted latencies of all that run on a machine, in sum: the inner sum of section 3.3 of the paper.

    ``alone_s`` is by machine type and variant; a variant without a latency cannot run on that type. ``weights`` are by
    variant, 1 where none is given: queries per second make the sum the time that machines are busy per second.
    ``added_only`` counts what neighbours add to each latency and not the latency itself: the paper's latency
    degradation, which its evaluation is in (section 4).
    """

    alone_s: Mapping[tuple[str, str], float]
    interference: Interference
    weights: Mapping[str, float] = field(default_factory=dict)
    added_only: bool = False

    def of(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        """Seconds, shape [configurations]; infinite where a variant cannot run, 0 where nothing does.

        The interference is asked for all of them at once.
        """
        sums = np.zeros(len(configurations))
        possible = []
        for number, (machine, variants) in enumerate(configurations):
            if all((machine, variant) in self.alone_s for variant in variants):
                if variants:
                    possible.append(number)
            else:
                sums[number] = inf
        if not possible:
            return sums
        asked = [configurations[number] for number in possible]
        slowdowns = np.array([each for own in self.interference.slowdowns(asked) for each in own])
        alone = np.array([self._weighted_s(machine, variant) for machine, own in asked for variant in own])
        starts = np.cumsum([0, *(each.degree for each in asked[:-1])])
        sums[possible] = np.add.reduceat(alone * (slowdowns - self.added_only), starts)
        return sums

    def _weighted_s(self, machine: str, variant: str) -> float:
        return self.alone_s[machine, variant] * self.weights.get(variant, 1.0)
