"""What forecasts are worth: violations at equal worker-seconds, when the simulator plans on them.

``python -m benchmarks.forecast_value --json``. An elastic pool whose workers take a minute to start serves bursty and
diurnal hours of a recorded load in the simulator, planned for by a reactive planner, by every forecaster, and by an
oracle that knows the future. Forecasters are fitted to the days before the hours. The headroom of each policy is set
so that all have the same number of workers in the mean: a budget, as a multiple of what the oracle has with no
headroom. docs/benchmarks/forecasts.md says how to read the figures.
"""

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from benchmarks.forecast_value.comparison import BUDGET, Comparison
from benchmarks.forecast_value.frontier import ALL, gains, kinds_of
from benchmarks.forecast_value.parts import KINDS, choose
from benchmarks.forecast_value.picture import save_picture
from benchmarks.forecast_value.policies import FORECASTERS, ORACLE, REACTIVE
from benchmarks.machine import with_machine
from benchmarks.recorded_load import read_recorded
from catalog.errors import BadSeries, ConfigError
from forecast.series.series import DAY_S

SERIES_FILE = Path(__file__).parents[3] / "shared" / "data" / "twitter" / "load_per_second_18d.csv.gz"

GOALS = {"fewer_violations_than_reactive": 3.0, "share_of_oracle_gain": 0.6}
"""The least that each shall be, for the best forecaster in all hours."""


def main() -> None:
    """Play and print."""
    args = _arguments()
    begun_s = time.perf_counter()
    console = Console(stderr=True)
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes: each has one core
    try:
        if args.plot is not None:
            args.plot.parent.mkdir(parents=True, exist_ok=True)
        series, report = read_recorded(str(args.series))
        train_until_s = series.start_s + args.train_days * DAY_S
        test_until_s = series.end_s if args.test_days is None else train_until_s + args.test_days * DAY_S
        for line in report.lines():
            console.print(line, style="dim")
        wanted = dict(zip(KINDS, (args.bursty_hours, args.diurnal_hours), strict=True))
        choice = choose(series, train_until_s, test_until_s, wanted, args.seed)
        comparison = Comparison(series, train_until_s, choice, args.forecasters, args.seed, args.processes)
        result = comparison.run(console)
    except (ConfigError, BadSeries) as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"cannot make a folder for {args.plot}: {error.strerror}; name another file with --plot")
    kinds = {kind: gains(result.points(kind), result.number(BUDGET), REACTIVE, ORACLE) for kind in kinds_of(choice)}
    best = _best(kinds[ALL])
    if args.plot is not None:
        save_picture(args.plot, result, best["best"])
    body = {
        "series": Path(args.series).name,
        "train_days": args.train_days,
        "parts": {
            kind: {
                "hours": sum(part.kind == kind for part in choice.parts),
                "of": choice.hours[kind],
                "bursts": sum(part.bursts for part in choice.parts if part.kind == kind),
            }
            for kind in KINDS
        },
        "budget": BUDGET,
        **best,
        "kinds": kinds,
        "by_budget": {
            f"{budget:g}": {
                name: {key: figures[key] for key in ("violations_pct", *GOALS)}
                for name, figures in gains(result.points(ALL), number, REACTIVE, ORACLE).items()
            }
            for number, budget in enumerate(result.budgets)
        },
        "frontiers": {
            kind: {
                name: [
                    {"headroom": headroom} | asdict(point)
                    for headroom, point in zip(result.headrooms[name], points, strict=True)
                ]
                for name, points in result.points(kind).items()
            }
            for kind in kinds
        },
        "fit_s": result.fit_s,
        "total_s": time.perf_counter() - begun_s,
    }
    body = with_machine(body, times=("fit_s", "total_s"))
    if args.json:
        print(orjson.dumps(body).decode())
    else:
        _print(body)


def _best(figures: Mapping[str, Mapping[str, float | None]]) -> dict[str, Any]:
    """The forecaster with the fewest violations, and its figures."""
    best = min(figures.keys() - {REACTIVE, ORACLE}, key=lambda name: figures[name]["violations_pct"] or 0.0)
    return {"best": best} | {goal: figures[best][goal] for goal in GOALS}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--series", default=SERIES_FILE, help="CSV with requests_per_s (default %(default)s)")
    parser.add_argument("--train-days", type=_whole, default=14, help="to fit on (default %(default)s)")
    parser.add_argument("--test-days", type=_whole, help="after those (default: to the end)")
    parser.add_argument("--bursty-hours", type=_whole, default=12, help="to play (default %(default)s)")
    parser.add_argument("--diurnal-hours", type=_whole, default=3, help="to play (default %(default)s)")
    parser.add_argument(
        "--forecasters", type=_forecasters, default=FORECASTERS, help=f"some of {','.join(FORECASTERS)} (default all)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of hours, arrivals and fits (default %(default)s)")
    parser.add_argument("--processes", type=_whole, default=2, help="at once (default %(default)s)")
    parser.add_argument("--plot", type=Path, help="PNG with frontiers and bursts")
    return parser.parse_args()


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _forecasters(text: str) -> Sequence[str]:
    names = tuple(text.split(","))
    if strangers := [name for name in names if name not in FORECASTERS]:
        raise argparse.ArgumentTypeError(f"no forecaster {', '.join(strangers)}; there are {', '.join(FORECASTERS)}")
    return names


def _print(body: Mapping[str, Any]) -> None:
    console = Console()
    for kind, figures in body["kinds"].items():
        table = Table(title=f"{kind} hours, {body['budget']:g} times the workers of the oracle without headroom")
        for heading in ("policy", "violated %", "workers", "reactive %", "fewer", "share of gain"):
            table.add_column(heading, justify="left" if heading == "policy" else "right")
        for name, of in figures.items():
            cells = ("violations_pct", "workers", "reactive_violations_pct", *GOALS)
            table.add_row(name, *("-" if of[key] is None else f"{of[key]:.3f}" for key in cells))
        console.print(table)
    console.print(f"Best: {body['best']}. {body['total_s']:.0f} s in all.")


if __name__ == "__main__":
    main()
