"""Figures of measured placements: 95th percentiles with their spread over the runs, and who was better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.placement.effect_choices import BY_P95, LATENCY_SUM, Split
from benchmarks.placement.effect_load import Mix

MEASURES = tuple(BY_P95)

Runs = NDArray[np.float64]
"""A figure of each run: shape [runs]."""


@dataclass(frozen=True)
class MeasuredMix:
    """A mix: what each scheduler chose, and what was measured of all its placements, by figure, in the same runs."""

    mix: Mix
    chosen: Mapping[str, Split]  # by scheduler, those by prediction and those by load
    figures: Mapping[Split, Mapping[str, Runs]]
    others_frac: Sequence[float]  # by run, of the CPUs, that other processes had

    def runs(self, scheduler: str, measure: str) -> Runs:
        """Of what the scheduler chose; schedulers with the same placement have the same figures."""
        return self.figures[self.chosen[scheduler]][measure]

    def best(self, measure: str) -> Split:
        """The placement with the least median."""
        return min(self.figures, key=lambda split: float(np.median(self.figures[split][measure])))


def spread(runs: Runs) -> dict[str, float]:
    """Median and range over the runs."""
    return {"median": float(np.median(runs)), "least": float(runs.min()), "most": float(runs.max())}


def summary(mixes: Sequence[MeasuredMix]) -> dict[str, Any]:
    """By measure all schedulers over all mixes, and the gain of the predictor over the best least-loaded one.

    Over all mixes a scheduler's figure in a run is the geometric mean over the mixes: a mix of slow variants counts no
    more than one of fast ones. The least-loaded scheduler is, of those by load, the one with the least median over all
    mixes, in hindsight and for each measure. A gain is its figure over the predictor's in the same run: 1 where they
    place alike.
    """
    return {measure: _of_measure(mixes, measure) for measure in MEASURES}


def _of_measure(mixes: Sequence[MeasuredMix], measure: str) -> dict[str, Any]:
    over_mixes = {name: _mean([mix.runs(name, measure) for mix in mixes]) for name in mixes[0].chosen}
    rules = [name for name in over_mixes if name not in (*BY_P95.values(), LATENCY_SUM)]
    aware = BY_P95[measure]
    best_rule = min(rules, key=lambda name: float(np.median(over_mixes[name])))
    oracle = _mean([mix.figures[mix.best(measure)][measure] for mix in mixes])
    chance = _mean([_mean([own[measure] for own in mix.figures.values()]) for mix in mixes])
    return {
        "least_loaded": spread(over_mixes[best_rule]),
        "interference_aware": spread(over_mixes[aware]),
        LATENCY_SUM: spread(over_mixes[LATENCY_SUM]),
        "oracle": spread(oracle),
        "by_chance": spread(chance),
        "least_loaded_by": {name: spread(over_mixes[name]) for name in rules},
        "best_least_loaded": best_rule,
        "gain": spread(over_mixes[best_rule] / over_mixes[aware]),
        "gain_latency_sum": spread(over_mixes[best_rule] / over_mixes[LATENCY_SUM]),
        "gain_over_each": {name: spread(over_mixes[name] / over_mixes[aware]) for name in rules},
        "placed_alike": sum(mix.chosen[best_rule] == mix.chosen[aware] for mix in mixes),
    }


def described(measured: MeasuredMix) -> dict[str, Any]:
    """One mix in JSON values."""
    return {
        "variants": list(measured.mix),
        "placements": {
            name_of(split): {measure: spread(own[measure]) | {"runs": own[measure].tolist()} for measure in MEASURES}
            for split, own in measured.figures.items()
        },
        "chosen": {name: name_of(split) for name, split in measured.chosen.items()},
        "oracle": {measure: name_of(measured.best(measure)) for measure in MEASURES},
        "others_frac": list(measured.others_frac),
    }


def name_of(split: Split) -> str:
    """Such as ``a + b | c``."""
    return " | ".join(" + ".join(own) or "nothing" for own in split)


def _mean(figures: Sequence[Runs]) -> Runs:
    """Geometric, in each run."""
    mean: Runs = np.exp(np.mean(np.log(np.array(figures)), axis=0))
    return mean
