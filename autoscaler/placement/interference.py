"""The seam of what variants do to each other on one machine."""

from collections.abc import Sequence
from typing import Protocol

from predictor.configuration import Configuration
from predictor.predictor import SlowdownPredictor

MOST_KEPT = 20_000
"""Configurations whose slowdowns are remembered: some 10 MB at a degree of four."""


class Interference(Protocol):
    """How much longer variants take that run at the same time on one machine.

    Variants that share one worker are not meant: a worker runs one batch at a time.
    """

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        """For each configuration a factor for each of its variants, in their order: at least 1, and 1 for one alone."""
        ...


class NoInterference:
    """Variants do nothing to each other."""

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        """1 for every variant."""
        return [(1.0,) * configuration.degree for configuration in configurations]


class PredictedInterference:
    """What a predictor says, asked for all unknown configurations of a call at once and remembered.

    A prediction below 1 counts as 1: measured slowdowns are below 1 by noise, and nobody should plan with that. Where
    the caller remembers what it asked for, as `MachineCosts` does, ``most_kept`` 0 saves time.
    """

    def __init__(self, predictor: SlowdownPredictor, most_kept: int = MOST_KEPT) -> None:
        self._predictor = predictor
        self._most_kept = most_kept
        self._known: dict[Configuration, tuple[float, ...]] = {}

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        """As predicted, whatever the order of the variants."""
        ordered = [configuration.ordered for configuration in configurations]
        known = {each: self._known[each] for each in ordered if each in self._known}
        if unknown := [each for each in dict.fromkeys(ordered) if each not in known]:
            known |= self._predicted(unknown)
        return [
            _in_order_of(configuration, each, known[each])
            for configuration, each in zip(configurations, ordered, strict=True)
        ]

    def _predicted(self, unknown: Sequence[Configuration]) -> dict[Configuration, tuple[float, ...]]:
        several = [each for each in unknown if each.degree > 1]
        values = self._predictor.slowdowns(several).clip(min=1.0).tolist() if several else []
        found = {each: (1.0,) * each.degree for each in unknown if each.degree <= 1}
        start = 0
        for each in several:
            found[each] = tuple(values[start : start + each.degree])
            start += each.degree
        if len(found) > self._most_kept:
            return found
        if len(self._known) + len(found) > self._most_kept:
            self._known.clear()
        self._known.update(found)
        return found


def _in_order_of(
    configuration: Configuration, ordered: Configuration, slowdowns: tuple[float, ...]
) -> tuple[float, ...]:
    """From the order of the names to that of the configuration; equal variants are next to each other in the former."""
    if configuration.variants == ordered.variants:
        return slowdowns
    by_name = sorted(range(configuration.degree), key=configuration.variants.__getitem__)
    found = dict(zip(by_name, slowdowns, strict=True))
    return tuple(found[position] for position in range(configuration.degree))
