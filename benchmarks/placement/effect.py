"""What placing by predicted slowdowns is worth on this machine: two CPUs, real runtimes, queries as they arrive.

Each of two CPUs is a machine with a pool of worker processes bound to it. A mix of variants is placed on them by
least-loaded and by the predictor, and the 95th percentile of the latencies of all queries is measured, from arrival to
answer, under the same arrivals for every placement. Every placement that there is gets measured, in turns, so that what
all schedulers would have got is read off the same runs.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoscaler.placement.interference import PredictedInterference
from autoscaler.placement.machine import LatencySum
from benchmarks.placement.effect_choices import Split, all_splits, by_latency_sum, by_load, by_p95, machines
from benchmarks.placement.effect_figures import (
    IN_MS,
    INTERFERENCE_AWARE,
    LATENCY_SUM,
    RELATIVE,
    MeasuredMix,
    Runs,
    described,
    summary,
)
from benchmarks.placement.effect_load import P95, ROLES, Mix, SteadyLoad, arrivals_s, draw_mixes, draw_utilisations
from benchmarks.placement.effect_pools import Pools, Query
from benchmarks.placement.effect_training import measure_alone, measure_loads, measure_pairs, variant_table
from catalog.catalogue import load_catalogue
from catalog.machine_type import machine_type
from catalog.variant import Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.steady_batches import RuntimePrograms
from predictor.examples import examples_of
from predictor.features.onnx_graph import artifact_architecture
from predictor.measure.co_location import QUIET_FRAC
from predictor.measure.positions import Role
from predictor.measure.program import Programs
from predictor.measurements import Measurements
from predictor.training import GAUSSIAN_PROCESS, fit
from predictor.variant_table import VariantTable

MIXES, RUNS, RUN_S = 9, 5, 1.3
AGAIN_S = 20.0
"""Spent on runs that other processes disturbed, once more; the less disturbed one counts."""

OnStep = Callable[[str], object]


@dataclass(frozen=True)
class Known:
    """What schedulers may know of the variants of all mixes."""

    machine: str
    loads: Mapping[str, SteadyLoad]
    alone: Mapping[str, Mapping[str, float]]
    pairs: Measurements
    table: VariantTable


def measure(seed: int, on_step: OnStep) -> dict[str, Any]:
    """Draw mixes of `ROLES`, measure what the predictor learns from, then every placement of each mix."""
    programs = builtin_programs(ROLES)
    architecture = {role.variant: artifact_architecture(programs.artifact(role.variant)) for role in ROLES}
    return measure_with(programs, ROLES, architecture, seed, on_step)


def measure_with(
    programs: Programs,
    roles: Sequence[Role],
    architecture: Mapping[str, Mapping[str, float]],
    seed: int,
    on_step: OnStep,
    mixes: int = MIXES,
    run_s: float = RUN_S,
) -> dict[str, Any]:
    """The same for any variants, the smallest first. Raises `ConfigError` where there is one CPU only."""
    rng = np.random.default_rng(seed)
    utilisation = draw_utilisations([role.variant for role in roles], rng)
    drawn = draw_mixes(utilisation, mixes, rng)
    with Pools(programs) as pools:
        known = _learned(pools, roles, utilisation, architecture, rng, on_step)
        measured, held_out_error = [], []
        for number, mix in enumerate(drawn):
            on_step(f"mix {number + 1} of {mixes}: {', '.join(mix)}")
            chosen, error = choices(mix, known, seed)
            held_out_error.append(error)
            measured.append(_measured(pools, mix, chosen, known, run_s, AGAIN_S / mixes, rng))
    over_mixes = summary(measured)
    return {
        "machine_type": known.machine,
        "cpus": list(pools.cpus),
        "load": {
            name: {
                "rows": load.role.rows,
                "utilisation": load.utilisation,
                "rate_qps": load.rate_qps,
                "latency_alone_ms": known.alone[name]["hw_latency_ms"],
                "p95_alone_ms": known.alone[name]["hw_p95_ms"],
            }
            for name, load in known.loads.items()
        },
        "predictor": {
            "kind": GAUSSIAN_PROCESS,
            "configurations": len(known.pairs.repeats),
            "spread": float(known.pairs.slowdown.std()),
            "held_out_mae": float(np.mean(held_out_error)),
        },
        "runs": RUNS,
        "run_s": run_s,
        "over_mixes": over_mixes,
        "mixes": [described(each) for each in measured],
        "others_frac": float(np.median([each for own in measured for each in own.others_frac])),
        "goals_met": {"p95_gain": over_mixes[IN_MS]["gain"]["least"] > 1.0},
    }


def builtin_programs(roles: Sequence[Role]) -> RuntimePrograms:
    """Of the built-in tasks, with one thread each."""
    found: dict[str, tuple[Variant, str]] = {}
    for name in ("builtin", "sentiment"):
        loaded = load_catalogue(name, lambda what, share: None)
        found |= {each.name: (each, loaded.root) for each in loaded.variants}
    return RuntimePrograms({role.variant: found[role.variant] for role in roles}, RuntimeOptions("cpu", 1))


def choices(mix: Mix, known: Known, seed: int) -> tuple[dict[str, Split], float]:
    """What each scheduler does with a mix, and the predictor's mean absolute error on its pairs, which it never saw.

    What is predicted is the 95th percentile of each variant's latency, and the sum has queries per second for weights.
    """
    inside = [each for each in known.pairs.repeats if set(each.variants) <= set(mix)]
    seen = known.pairs.only([each for each in known.pairs.repeats if each not in inside])
    predictor = fit(examples_of(seen), known.table, GAUSSIAN_PROCESS, seed=seed)
    truth = examples_of(known.pairs.only(inside))
    error = float(np.abs(predictor.slowdowns(truth.configurations) - truth.slowdown).mean())
    cost = LatencySum(
        {(known.machine, name): own["hw_p95_ms"] / 1e3 for name, own in known.alone.items()},
        PredictedInterference(predictor),
        {name: load.rate_qps for name, load in known.loads.items()},
    )
    two = machines(known.machine)
    found = {INTERFERENCE_AWARE: by_p95(mix, known.machine, cost), LATENCY_SUM: by_latency_sum(mix, two, cost)}
    for what, load_of in (
        ("number", dict.fromkeys(mix, 1.0)),
        ("utilisation", {name: known.alone[name]["hw_cpu_utilisation"] for name in mix}),
        ("latency", {name: known.alone[name]["hw_latency_ms"] for name in mix}),
        ("queries per second", {name: known.loads[name].rate_qps for name in mix}),
    ):
        found[f"{what}, by arrival"] = by_load(mix, two, load_of, largest_first=False)
        if what != "number":
            found[f"{what}, largest first"] = by_load(mix, two, load_of, largest_first=True)
    return found, error


def _learned(
    pools: Pools,
    roles: Sequence[Role],
    utilisation: Mapping[str, float],
    architecture: Mapping[str, Mapping[str, float]],
    rng: np.random.Generator,
    on_step: OnStep,
) -> Known:
    machine = machine_type("cpu", 1)
    on_step("each variant alone")
    loads = measure_loads(pools, roles, utilisation, rng)
    alone = measure_alone(pools, loads, rng)
    on_step("pairs of variants on one CPU")
    pairs = measure_pairs(pools, machine, loads, alone, rng)
    return Known(machine, loads, alone, pairs, variant_table(machine, alone, architecture))


def _measured(
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
        split: {measure: np.array([run[split][measure] for run, _ in runs]) for measure in (IN_MS, RELATIVE)}
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
