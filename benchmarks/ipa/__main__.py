"""The paper's five pipelines on four excerpts of a load, by IPA, FA2, RIM and Loki (IPA, section 5).

``python -m benchmarks.ipa --json [--series FILE]``. Everything but the latencies of the models is the paper's; these
are made from its tables by a rule. All systems are solved by the same exact program, with the same forecasts, on the
same data path in the simulator; their headrooms are set on excerpts from before the reported ones. The rules, and
how to read the figures, are in docs/benchmarks/pipelines.md.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.arguments import at_least_0, seed
from benchmarks.ipa.comparison import JOBS, Result, compare
from benchmarks.ipa.demand import Scene, learned, scene_of
from benchmarks.ipa.excerpts import Kind, choose, scale_of, spans_of
from benchmarks.ipa.goals import goals_of, mean_gain
from benchmarks.ipa.picture import save_bursty, save_frontier
from benchmarks.ipa.pipelines import pipelines_of
from benchmarks.ipa.scenario import PIPELINES, read_scenario
from benchmarks.ipa.simulation import Outcome
from benchmarks.machine import with_machine
from benchmarks.recorded_load import read_recorded
from catalog.errors import BadSeries, ConfigError

SERIES_FILE = Path(__file__).parents[3] / "shared" / "data" / "twitter" / "load_per_second_18d.csv.gz"


def main() -> None:
    """Play and print."""
    args = _arguments()
    begun_s = time.perf_counter()
    try:
        if args.plot is not None:
            args.plot.mkdir(parents=True, exist_ok=True)
        series, _ = read_recorded(str(args.series))
        spans = spans_of(series)
        scale = scale_of(series, spans)
        excerpts = {
            name: choose(series, scale, from_s, until_s)
            for name, from_s, until_s in (
                ("tuned", spans.tuned_from_s, spans.reported_from_s),
                ("reported", spans.reported_from_s, spans.end_s),
            )
        }
        every = pipelines_of(read_scenario(), args.size_factor)
        with tqdm(total=1 + JOBS * len(args.pipelines), desc="learning to forecast", file=sys.stderr) as bar:
            with threadpool_limits(1):
                forecaster = learned(series, scale, spans.tuned_from_s, args.seed)
            scenes: dict[str, dict[Kind, Scene]] = {
                name: {kind: scene_of(each, series, scale, forecaster) for kind, each in own.items()}
                for name, own in excerpts.items()
            }
            bar.update()
            bar.set_description("playing")
            results = compare(
                {name: every[name] for name in args.pipelines},
                scenes["tuned"],
                scenes["reported"],
                args.seed,
                args.processes,
                lambda what: _progress(bar, what),
            )
    except (ConfigError, BadSeries) as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"cannot make the folder {args.plot}: {error.strerror}; name another with --plot")
    if args.plot is not None:
        save_frontier(args.plot / "ipa-frontier.png", results)
        save_bursty(args.plot / "ipa-bursty.png", results)
    body = _body(results) | {
        "series": Path(args.series).name,
        "scale": scale,
        "size_factor": args.size_factor,
        "excerpts": {name: {kind: _excerpt(each) for kind, each in own.items()} for name, own in scenes.items()},
        "total_s": time.perf_counter() - begun_s,
    }
    body = with_machine(body, times=("total_s",))
    if args.json:
        print(orjson.dumps(body).decode())
    else:
        _print(body)


def _progress(bar: "tqdm[Any]", what: str) -> None:
    bar.set_description(what)
    bar.update()


def _body(results: Mapping[str, Result]) -> dict[str, Any]:
    goals = goals_of(results)
    gains = {name: mean_gain(result) for name, result in results.items()}
    return {
        "simulated": True,
        "goals_met": all(goal.met for goal in goals.values()),
        "goals": {name: asdict(goal) for name, goal in goals.items()},
        "pipelines": {
            name: {
                kind: {system: _outcome(outcome) for system, outcome in own.items()}
                for kind, own in result.outcomes.items()
            }
            for name, result in results.items()
        },
        "over_fa2_low": {
            name: {"accuracy_points": points, "cost_more_pct": more} for name, (points, more) in gains.items()
        },
        "settings": {
            name: {
                system: asdict(setting) | {"tuning_violations_pct": result.tuned.violations_pct[system]}
                for system, setting in result.tuned.settings.items()
            }
            for name, result in results.items()
        },
        "predictive": {name: _pair(result) for name, result in results.items()},
        "frontier": {
            name: {
                "presets": {
                    preset: {"alpha": alpha} | _outcome(result.frontier[alpha])
                    for preset, alpha in result.tuned.presets.items()
                },
                "by_alpha": {f"{alpha:g}": _outcome(outcome) for alpha, outcome in result.frontier.items()},
            }
            for name, result in results.items()
        },
    }


def _outcome(outcome: Outcome) -> dict[str, float]:
    return {
        "accuracy": outcome.accuracy,
        "cost_cores": outcome.cost_cores,
        "violations_pct": outcome.violations_pct,
        "accuracy_product": outcome.product,
        "p50_s": outcome.p50_s,
        "p99_s": outcome.p99_s,
        "queries": outcome.queries,
        "plan_changes": outcome.changes,
    }


def _pair(result: Result) -> dict[str, Any]:
    pair = result.pair
    predicted, reacted = pair.predictive.violated, pair.reactive_at_equal_cost.violated
    return {
        "predictive": {"headroom": pair.headroom} | _outcome(pair.predictive),
        "reactive": {"headroom": pair.headroom} | _outcome(pair.reactive),
        "reactive_at_equal_cost": {"headroom": pair.reactive_headroom} | _outcome(pair.reactive_at_equal_cost),
        "times_fewer_violations": reacted / predicted if predicted else None,
    }


def _excerpt(scene: Scene) -> dict[str, Any]:
    excerpt = scene.excerpt
    return {
        "start_s": excerpt.start_s,
        "mean_qps": excerpt.mean_qps,
        "variability": excerpt.variability,
        "surge": excerpt.surge,
        "movement": excerpt.movement,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--series", default=SERIES_FILE, help="CSV with requests_per_s (default %(default)s)")
    parser.add_argument("--pipelines", type=_pipelines, default=PIPELINES, help="some of them, by comma (default all)")
    parser.add_argument(
        "--size-factor",
        type=at_least_0,
        default=1.0,
        help="of the exponent of parameters in latencies (default %(default)s)",
    )
    parser.add_argument("--seed", type=seed, default=0, help="of arrivals, latencies and fits (default %(default)s)")
    parser.add_argument(
        "--processes", type=int, choices=range(1, 65), default=2, metavar="N", help="at once (default 2)"
    )
    parser.add_argument("--plot", type=Path, help="folder for ipa-frontier.png and ipa-bursty.png")
    return parser.parse_args()


def _pipelines(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if strangers := [name for name in names if name not in PIPELINES]:
        raise argparse.ArgumentTypeError(f"no pipeline {', '.join(strangers)}; there are {', '.join(PIPELINES)}")
    return names


def _print(body: Mapping[str, Any]) -> None:
    console = Console()
    for name, kinds in body["pipelines"].items():
        table = Table(title=f"{name}: accuracy score, cores, violations in percent")
        table.add_column("excerpt")
        for system in next(iter(kinds.values())):
            table.add_column(system, justify="right")
        for kind, own in kinds.items():
            cells = (f"{o['accuracy']:.1f} {o['cost_cores']:.1f} {o['violations_pct']:.2f}" for o in own.values())
            table.add_row(kind, *cells)
        console.print(table)
    for name, goal in body["goals"].items():
        mark = "met" if goal["met"] else "missed"
        console.print(f"{name}: {goal['reached']:.3g} of {goal['wanted']:g}, {mark} ({goal['where']})")
    console.print(f"{body['total_s']:.0f} s in all.")


if __name__ == "__main__":
    main()
