"""How well slowdowns are predicted, what placing by predictions is worth, and how much has to be measured.

``python -m benchmarks.interference --json`` measures real variants on this machine first (at most 20 minutes), then
gives (a) errors of predictors on configurations that they have not seen, (c) the placement study of section 4 of the
paper, (d) learning curves; and, on a made-up family of eight machine types, (a) to (d) again with (b), encodings of
machine types. ``--measurements FILE --variants FILE`` gives (a) to (d) for any measurements instead, which are Parquet
or CSV with the columns configuration, machine, variant, alone_ms, together_ms; and variant, machine, hw_*, arch_*.
``--keep FOLDER`` keeps what is measured here, and goes on with what is there.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import orjson
import yaml

from benchmarks.arguments import positive, seed
from benchmarks.interference.accuracy import OnStep, accuracy
from benchmarks.interference.family import family
from benchmarks.interference.goals import goals
from benchmarks.interference.learned import MOST_LEARNED
from benchmarks.interference.learning_curves import learning_curves
from benchmarks.interference.machine_types import machine_types
from benchmarks.interference.measuring import measure_here
from benchmarks.interference.placement_study import placement_study
from benchmarks.machine import with_machine
from catalog.errors import AccordError
from predictor.measurements import Measurements, read_measurements
from predictor.variant_table import VariantTable, read_variants


def main() -> None:
    """Measure or read, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument("--measurements", type=Path, help="instead of measuring here; with --variants")
    parser.add_argument("--variants", type=Path, help="metrics of the variants in --measurements")
    parser.add_argument("--keep", type=Path, help="folder for what is measured here")
    parser.add_argument("--budget-s", type=positive, default=1080.0, help="seconds at most to measure for")
    parser.add_argument("--seed", type=seed, default=0)
    args = parser.parse_args()
    if (args.measurements is None) != (args.variants is None):
        parser.error("--measurements and --variants go together: give both, or none to measure here")
    try:
        body = figures_of_files(args) if args.measurements is not None else figures_of_this_machine(args)
    except AccordError as error:
        sys.exit(str(error))
    body = with_machine(body, times=[])
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def figures_of_files(args: argparse.Namespace) -> dict[str, Any]:
    """(a) to (d) of the measurements that were given."""
    measurements, table = read_measurements(args.measurements), read_variants(args.variants)
    measured = {(each.machine, variant) for each in measurements.repeats for variant in each.variants}
    if without := sorted(measured - table.hardware.keys()):
        machine, variant = without[0]
        _say(
            f"{len(without)} of {len(measured)} variants on machines have no row in {args.variants}, such as "
            f"{variant!r} on {machine!r}"
        )
    return _judged(figures(measurements, table, args.seed, _say))


def figures_of_this_machine(args: argparse.Namespace) -> dict[str, Any]:
    """(a), (c) and (d) of what is measured here, and (a) to (d) of the made-up family."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or Path(temporary)
        report = measure_here(folder, args.budget_s, args.seed)
        here = figures(
            read_measurements(folder / "measurements.parquet"),
            read_variants(folder / "variants.parquet"),
            args.seed,
            _say,
        )
    made_up = _judged(figures(*family(args.seed), args.seed, _say))
    return _judged(here) | {"measured": report, "synthetic": made_up}


def figures(measurements: Measurements, table: VariantTable, seed: int, on_step: OnStep) -> dict[str, Any]:
    """All that can be said of these measurements, with one kind of predictor: the best in cross-validation."""
    found = accuracy(measurements, table, seed, on_step)
    kind = found["chosen"]["unified"]["kind"]
    curves = learning_curves(measurements, table, kind, seed, on_step)
    return found | {
        "unified_lower_pct": (
            100 * (1 - found["unified_mae"] / found["separate_mae"]) if found["separate_mae"] else None
        ),
        "machine_types": machine_types(measurements, table, seed, on_step),
        "placement": placement_study(measurements, table, kind, seed, on_step),
        "learning_curves": curves,
        "active_saving_pct": curves["saving_pct"],
        "configurations": len(measurements.repeats),
        "most_examples_learned": MOST_LEARNED,
        "machines": list(measurements.machines),
    }


def _judged(body: dict[str, Any]) -> dict[str, Any]:
    judged = goals(body)
    return body | {"goals": judged, "goals_met": all(judged.values())}


def _say(step: str) -> None:
    print(step, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
