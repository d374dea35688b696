"""Measures all placements of a mix on both pools, in turns, so that what each scheduler would have got is known."""

import time
from collections.abc import Mapping

import numpy as np

from benchmarks.placement.effect_choices import IN_MS, RELATIVE, Split, all_splits
from benchmarks.placement.effect_figures import MEASURES, MeasuredMix, Runs
from benchmarks.placement.effect_load import P95, Mix, arrivals_s
from benchmarks.placement.effect_pools import Pools, Query
from benchmarks.placement.effect_training import Known
from predictor.measure.co_location import QUIET_FRAC

RUNS = 5
AGAIN_S = 20.0
"""Spent on runs that other processes disturbed, once more; the less disturbed one counts."""


def measure_mix(
    pools: Pools,
    mix: Mix,
    chosen: Mapping[str, Split],
    known: Known,
    run_s: float,
    again_s: float,
    rng: np.random.Generator,
) -> MeasuredMix:
    """`RUNS` runs, and more in place of those that were disturbed, as long as there is time for them."""
    runs = [_run(pools, mix, known, run_s, number, rng) for number in range(RUNS)]
    ends_s = time.monotonic() + again_s
    for _ in range(RUNS):
        worst = max(range(RUNS), key=lambda number: runs[number][1])
        if runs[worst][1] <= QUIET_FRAC or time.monotonic() >= ends_s:
            break
        runs[worst] = min(runs[worst], _run(pools, mix, known, run_s, worst, rng), key=lambda run: run[1])
    figures: dict[Split, dict[str, Runs]] = {
        split: {measure: np.array([run[split][measure] for run, _ in runs]) for measure in MEASURES}
        for split in all_splits(mix)
    }
    return MeasuredMix(mix, chosen, figures, [others_frac for _, others_frac in runs])


def _run(
    pools: Pools, mix: Mix, known: Known, run_s: float, number: int, rng: np.random.Generator
) -> tuple[dict[Split, dict[str, float]], float]:
    """All placements of a mix, one after the other in an order that changes, under the same arrivals.

    Which CPU has which variants changes too. Also gives the share of the CPUs that other processes had.
    """
    arrivals = {name: arrivals_s(known.loads[name].rate_qps, run_s, rng) for name in mix}
    splits = all_splits(mix)
    found, others_frac = {}, []
    for index in range(len(splits)):
        split = splits[(index + number) % len(splits)]
        halves = split if rng.random() < 0.5 else split[::-1]
        observed = pools.observe([[Query(known.loads[name].role, arrivals[name]) for name in own] for own in halves])
        latencies_ms = {
            name: 1e3 * latencies_s
            for own, answered in zip(halves, observed.latencies_s, strict=True)
            for name, latencies_s in zip(own, answered, strict=True)
        }
        relative = [own / known.alone[name]["hw_latency_ms"] for name, own in latencies_ms.items()]
        found[split] = {
            IN_MS: float(np.quantile(np.concatenate(list(latencies_ms.values())), P95)),
            RELATIVE: float(np.quantile(np.concatenate(relative), P95)),
        }
        others_frac.append(observed.others_frac)
    return found, float(np.mean(others_frac))
