"""What ensembles cost and how fast they are, beside single models and larger ensembles (Cocktail, section 6).

``python -m benchmarks.cocktail --json``. An hour of 50 requests/s in the simulator, on spot and on-demand machines of
four sizes that a minute or more to come and are taken away at times. All systems are planned for by the same planner
with the same forecasts, and differ in whom they ask: the fewest members that do (cocktail), one model (infaas), all
that are fast enough (clipper), or one fewer from interval to interval (clipper_x). Each is compared at the cheapest
headroom that keeps its violations low in another hour. docs/benchmarks/ensembles.md says how to read the figures.
"""

import argparse
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.arguments import at_least_0, picture_file, seed, whole
from benchmarks.cocktail.comparison import Comparison, compare, steps
from benchmarks.cocktail.figures import medians, ratios
from benchmarks.cocktail.goals import goals_of
from benchmarks.cocktail.models import ASKS, MIXES
from benchmarks.cocktail.picture import save_picture
from benchmarks.cocktail.scene import Inputs
from benchmarks.cocktail.systems import COCKTAIL, INFAAS
from benchmarks.cocktail.votes.drawn_votes import CORRELATION
from benchmarks.cocktail.votes.stand_ins import say_stand_ins
from benchmarks.machine import with_machine
from catalog.errors import BadSeries, ConfigError


def main() -> None:
    """Play and print."""
    args = _arguments()
    begun_s = time.perf_counter()
    console = Console(stderr=True)
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes: each has one core
    inputs = Inputs(args.series, args.prices, args.class_accuracy, args.correlation, args.lost_per_hour, args.seed)
    try:
        if args.class_accuracy is not None:
            say_stand_ins(args.class_accuracy, console)
        with Progress(console=console, disable=not console.is_terminal) as bar:
            task = bar.add_task("choosing sets of members", total=steps(args.seeds))

            def on_done(what: str) -> None:
                bar.update(task, advance=1, description=what)
                if not console.is_terminal:
                    console.print(f"{time.perf_counter() - begun_s:.0f} s: {what}", style="dim")

            comparison = compare(inputs, args.seeds, args.processes, on_done)
    except (ConfigError, BadSeries) as error:
        sys.exit(str(error))
    if args.picture is not None:
        save_picture(args.picture, comparison)
    body = _body(args, comparison) | {"total_s": time.perf_counter() - begun_s}
    body = with_machine(body, times=("total_s",))
    if args.json:
        print(orjson.dumps(body).decode())
    else:
        _print(body)


def _body(args: argparse.Namespace, comparison: Comparison) -> dict[str, Any]:
    goals = goals_of(comparison)
    return {
        "simulated": True,
        "goals_met": all(goal.met for goal in goals.values()),
        "goals": {name: asdict(goal) for name, goal in goals.items()},
        "series": "synthetic" if args.series is None else args.series.name,
        "prices": "synthetic" if args.prices is None else args.prices.name,
        "class_accuracy": "synthetic" if args.class_accuracy is None else args.class_accuracy.name,
        "correlation": args.correlation,
        "lost_per_hour": args.lost_per_hour,
        "seeds": args.seeds,
        "asks": [asdict(ask) for ask in ASKS],
        "mixes": {mix: list(shares) for mix, shares in MIXES.items()},
        "sets": {
            mix: {
                ask: {"members": own.members, "accuracy": own.accuracy, "mean_latency_s": own.mean_latency_s}
                for ask, own in sets.items()
            }
            for mix, sets in comparison.sets.items()
        },
        "systems": {
            mix: {name: _system(comparison, mix, name) for name in own} for mix, own in comparison.reported.items()
        },
        "frontiers": {
            mix: {name: [asdict(point) for point in each.frontier] for name, each in own.items()}
            for mix, own in comparison.tuned.items()
        },
    }


def _system(comparison: Comparison, mix: str, name: str) -> dict[str, Any]:
    own, ours = comparison.reported[mix][name], comparison.reported[mix][COCKTAIL]
    tuned = comparison.tuned[mix].get(name, comparison.tuned[mix][INFAAS])
    return (
        {"headroom": tuned.headroom, "promise_kept_in_tuning": tuned.kept}
        | medians(own.runs)
        | dict(ratios(ours.runs, own.runs))
        | {"by_ask": own.by_ask, "runs": [asdict(run) for run in own.runs]}
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--series", type=Path, help="CSV with requests_per_s (default: synthetic)")
    parser.add_argument("--prices", type=Path, help="CSV with spot1 to spot4, hour by hour (default: synthetic)")
    parser.add_argument(
        "--class-accuracy", type=Path, help="CSV with variant, class_wnid, correct_of_50 (default: synthetic)"
    )
    parser.add_argument(
        "--correlation", type=_correlation, default=CORRELATION, help="of members' errors (default %(default)s)"
    )
    parser.add_argument(
        "--lost-per-hour",
        type=_part,
        default=0.1,
        help="part of the spot machines taken away (default %(default)s)",
    )
    parser.add_argument("--seeds", type=whole, default=3, help="reported hours (default %(default)s)")
    parser.add_argument("--seed", type=seed, default=0, help="of all that is drawn (default %(default)s)")
    parser.add_argument("--processes", type=whole, default=2, help="at once (default %(default)s)")
    parser.add_argument("--picture", type=picture_file, help="PNG with the frontiers")
    return parser.parse_args()


def _correlation(text: str) -> float:
    value = at_least_0(text)
    if not value < 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not below 1")
    return value


def _part(text: str) -> float:
    value = at_least_0(text)
    if value > 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is above 1, which is all of them")
    return value


def _print(body: Mapping[str, Any]) -> None:
    console = Console()
    columns = (
        ("$/h", "dollars_per_h", 3),
        ("as dear", "times_as_dear", 2),
        ("late %", "violations_pct", 2),
        ("median s", "latency_p50_s", 3),
        ("as slow", "times_as_slow", 2),
        ("met %", "met_pct", 1),
        ("right %", "accuracy_pct", 1),
        ("members", "members", 2),
        ("machines", "machines", 1),
        ("headroom", "headroom", 2),
    )
    for mix, systems in body["systems"].items():
        table = Table(title=f"{mix} mix, simulated; medians over {body['seeds']} hours")
        table.add_column("system")
        for heading, _, _ in columns:
            table.add_column(heading, justify="right")
        for name, of in systems.items():
            table.add_row(name, *(f"{of[key]:.{digits}f}" for _, key, digits in columns))
        console.print(table)
    for name, goal in body["goals"].items():
        console.print(f"{name}: {goal['reached']:.2f}, wanted {goal['wanted']:g}: {'met' if goal['met'] else 'missed'}")
    console.print(f"{body['total_s']:.0f} s in all.")


if __name__ == "__main__":
    main()
