"""Predicted slowdowns, corrected by those that were measured on live workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, log2
from typing import Any, NamedTuple

from autoscaler.demand.profile_drift import BINS_PER_OCTAVE, ProfileDrift
from autoscaler.placement.interference import Interference
from autoscaler.placement.standing import Standing
from predictor.configuration import Configuration

HALF_LIFE_S = 600.0
"""What was measured is remembered for longer than a plan is in force, or plans would make the same mistake again."""

PRIOR_BATCHES = 50.0
"""Batches as predicted that every correction begins with: a few change little."""

LEAST, MOST = 0.5, 4.0
DEADBAND = 0.05
"""Corrections that differ by less from the one given out last are not given out, so that plans do not follow noise."""

LEAST_EVIDENCE = 0.1
"""What is worth less than so many batches is forgotten: places come and go as plans do."""

Place = tuple[str, str, tuple[str, ...]]
"""Machine type, variant, and what stands beside it."""


@dataclass(frozen=True)
class Corrections:
    """Measured slowdowns over predicted ones, as known at one instant.

    ``of_machine`` is by machine type and variant, whatever stood beside it. ``of_place`` has, by place, the factor
    that batches there were measured with, shrunk towards 1, and how much of a whole correction it is worth (0 to 1).
    """

    of_machine: Mapping[tuple[str, str], float] = field(default_factory=dict)
    of_place: Mapping[Place, tuple[float, float]] = field(default_factory=dict)

    def factor(self, machine: str, variant: str, beside: tuple[str, ...] | None) -> float:
        """What to multiply the prediction with, 1 where nothing is known.

        Of a place that was measured little, mostly what is known of the variant on such machines.
        """
        general = self.of_machine.get((machine, variant), 1.0)
        if beside is None or (known := self.of_place.get((machine, variant, beside))) is None:
            return general
        own, worth = known
        return float(general ** (1.0 - worth) * own)


class Correction(NamedTuple):
    """What a predicted slowdown is multiplied with; ``beside`` is empty where it holds for all places of the machine
    type that were measured too little. It rests on so many batches, in what they are worth."""

    machine: str
    variant: str
    beside: tuple[str, ...]
    factor: float
    batches: float


@dataclass(frozen=True)
class MeasuredInterference:
    """An `Interference` as predicted, times its corrections; nothing gets faster beside others."""

    predicted: Interference
    corrections: Corrections

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        """For each configuration a factor for each of its variants, in their order."""
        predicted = self.predicted.slowdowns(configurations)
        return [
            tuple(max(each * self._factor(configuration, position), 1.0) for position, each in enumerate(own))
            for configuration, own in zip(configurations, predicted, strict=True)
        ]

    def _factor(self, configuration: Configuration, position: int) -> float:
        if configuration.degree == 1:
            return 1.0
        beside = tuple(sorted(configuration.beside(position)))
        return self.corrections.factor(configuration.machine, configuration.variants[position], beside)


class MeasuredSlowdowns:
    """Learns `Corrections` from what batches took beside others, against the prediction.

    Counts are as `ProfileDrift` has them, which weighs, bounds and remembers them here as there: the 95th percentile of
    a batch's run over the profile's, over the predicted slowdown. Where a neighbour runs several variants, batches tell
    of the variant on such machines only. Instants are of one clock, in seconds.
    """

    def __init__(self, learned: ProfileDrift | None = None) -> None:
        self._learned = learned or ProfileDrift(HALF_LIFE_S, PRIOR_BATCHES, LEAST, MOST, DEADBAND)
        self._keys: dict[tuple[str, ...], None] = {}

    def on_counts(self, standing: Standing, counts: Sequence[float], drift: float, now_s: float) -> None:
        """So many batches fell into each bin of their run over the profile's and the slowdown that is reckoned with.

        ``drift`` is how many times its profiled time the variant takes alone.
        """
        moved = shifted(counts, standing.reckoned / (standing.predicted * drift))
        keys: list[tuple[str, ...]] = [(standing.machine, standing.variant)]
        if standing.beside is not None:
            keys.append((standing.machine, standing.variant, *standing.beside))
        for key in keys:
            self._keys[key] = None
            self._learned.on_counts(key, moved, now_s)

    def corrections(self, now_s: float) -> Corrections:
        """What is known now; what is worth next to nothing is forgotten."""
        of_machine, of_place = {}, {}
        for key in [key for key in self._keys if self._learned.evidence(key, now_s) < LEAST_EVIDENCE]:
            del self._keys[key]
            self._learned.forget(key)
        for key in self._keys:
            machine, variant, *beside = key
            factor = self._learned.factor(key, now_s)
            if not beside:
                of_machine[machine, variant] = factor
                continue
            batches = self._learned.evidence(key, now_s)
            of_place[machine, variant, tuple(beside)] = (factor, batches / (batches + PRIOR_BATCHES))
        return Corrections(of_machine, of_place)

    def known(self, now_s: float) -> list[Correction]:
        """What corrections rest on, those of variants on any place of a machine type first, in the order of names."""
        corrections = self.corrections(now_s)
        found = []
        for key in sorted(self._keys, key=lambda key: (len(key) > 2, key)):
            machine, variant, *others = key
            beside = tuple(others)
            factor = corrections.factor(machine, variant, beside or None)
            found.append(Correction(machine, variant, beside, factor, self._learned.evidence(key, now_s)))
        return found

    def to_record(self, now_s: float) -> dict[str, Any]:
        """All that was learned, in JSON values."""
        return self._learned.to_record(now_s)

    @classmethod
    def from_record(cls, record: Mapping[str, Any], now_s: float) -> "MeasuredSlowdowns":
        """Go on from a record as if it had been made now."""
        learned = ProfileDrift.from_record(
            record, now_s, half_life_s=HALF_LIFE_S, prior=PRIOR_BATCHES, least=LEAST, most=MOST, deadband=DEADBAND
        )
        made = cls(learned)
        made._keys = dict.fromkeys(tuple(each["key"]) for each in record["keys"])
        return made


def shifted(counts: Sequence[float], factor: float) -> tuple[float, ...]:
    """Counts of ratios that are ``factor`` times as large: what falls between two bins is shared by them.

    What leaves the range counts in the last bin of its side.
    """
    octaves = log2(factor)
    if octaves == 0.0:
        return tuple(counts)
    whole = floor(octaves * BINS_PER_OCTAVE)
    upper = octaves * BINS_PER_OCTAVE - whole
    moved = [0.0] * len(counts)
    last = len(counts) - 1
    for number, count in enumerate(counts):
        for bin_number, part in ((number + whole, 1.0 - upper), (number + whole + 1, upper)):
            moved[min(max(bin_number, 0), last)] += count * part
    return tuple(moved)
