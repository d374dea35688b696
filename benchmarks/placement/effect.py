"""What placing by predicted slowdowns is worth on this machine: two CPUs, real runtimes, queries as they arrive.

Each of two CPUs is a machine with a pool of worker processes bound to it. A mix of variants is placed on them by
least-loaded and by the predictor, and the 95th percentile of the latencies of all queries is measured, from arrival to
answer, under the same arrivals for every placement. Every placement that there is gets measured, in turns, so that what
all schedulers would have got is read off the same runs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.placement.effect_choices import IN_MS, UTILISATION, choices
from benchmarks.placement.effect_figures import described, summary
from benchmarks.placement.effect_load import ROLES, draw_mixes, draw_utilisations
from benchmarks.placement.effect_pools import Pools
from benchmarks.placement.effect_runs import AGAIN_S, RUNS, measure_mix
from benchmarks.placement.effect_training import learn
from catalog.catalogue import load_catalogue
from catalog.variant import Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.steady_batches import RuntimePrograms
from predictor.features.onnx_graph import artifact_architecture
from predictor.kinds import GAUSSIAN_PROCESS
from predictor.measure.positions import Role
from predictor.measure.program import Programs

MIXES = 9
RUN_S = 1.3
OnStep = Callable[[str], object]


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
    """The same for any variants, the smallest first. Raises `ConfigError` where there is one CPU only.

    Goals are beyond the spread of the runs: the least-loaded scheduler by utilisation has a higher 95th percentile in
    all of them, and the one that is best in hindsight does not have a lower one in all of them.
    """
    rng = np.random.default_rng(seed)
    utilisation = draw_utilisations([role.variant for role in roles], rng)
    drawn = draw_mixes(utilisation, mixes, rng)
    with Pools(programs) as pools:
        known = learn(pools, roles, utilisation, architecture, rng, on_step)
        measured, held_out_error = [], []
        for number, mix in enumerate(drawn):
            on_step(f"mix {number + 1} of {mixes}: {', '.join(mix)}")
            chosen, error = choices(mix, known, seed)
            held_out_error.append(error)
            measured.append(measure_mix(pools, mix, chosen, known, run_s, AGAIN_S / mixes, rng))
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
        "goals_met": {
            "p95_below_least_loaded_by_utilisation": over_mixes[IN_MS]["gain_over_each"][UTILISATION]["least"] > 1.0,
            "p95_not_above_best_least_loaded": over_mixes[IN_MS]["gain"]["most"] >= 1.0,
        },
    }


def builtin_programs(roles: Sequence[Role]) -> RuntimePrograms:
    """Of the built-in tasks, with one thread each."""
    found: dict[str, tuple[Variant, str]] = {}
    for name in ("builtin", "sentiment"):
        loaded = load_catalogue(name, lambda what, share: None)
        found |= {each.name: (each, loaded.root) for each in loaded.variants}
    return RuntimePrograms({role.variant: found[role.variant] for role in roles}, RuntimeOptions("cpu", 1))
