"""Accuracy scaling on a fixed cluster of several device types: Accord's planner against the baselines of Proteus.

``python -m benchmarks.proteus --trace ../shared/data/proteus/trace_twitter.csv.gz
--profiles ../shared/data/proteus/profiles.csv --cluster cpu=20,gpu_pascal=10,gpu_ampere=10 --slo-multiple 2 --json``
plays a trace of queries of several types through every system in the simulator: the same dispatcher, planner and
control loop that serve. docs/metrics.md has the metrics, docs/accuracy-scaling.md what the systems and the objectives
are. Runs are repeatable bit for bit: solving is charged with a constant time, and measured beside it.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Mapping
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.proteus.proteus_planner import LEAST_QPS
from benchmarks.machine import with_machine
from benchmarks.proteus.play import Played, loads_of, play
from benchmarks.proteus.saturation import saturation_qps
from benchmarks.proteus.systems import Study
from benchmarks.proteus.testbed import SLO_RULES, Testbed
from catalog.errors import ConfigError
from simulator.comparison_plot import save_comparison
from simulator.metrics import Metrics
from workload.typed_trace import read_typed_trace

OVERLOAD = 0.5
"""Without a speed-up given, the busiest 10 s take this part of what the least accurate variants could serve."""

SHORTEST_S = 60.0
"""What is left of a trace that is sped up without being told how much: enough for some plans."""

PLOT_WINDOW_S = 2.0

HEADINGS = ("system", "answers\nper s", "at\npeak", "accuracy\n%", "largest\ndrop %", "violated\n%", "plans")
"""Of the tables, which fit 80 columns."""


def main() -> None:
    """Play and print."""
    args = _arguments()
    console = Console(stderr=True)
    begun_s = time.perf_counter()
    try:
        arrivals_s = read_typed_trace(args.trace)
        testbed = Testbed.of(
            args.profiles, args.cluster, sorted(arrivals_s), args.slo_multiple, args.slo_rule, args.slo_ms
        )
        speedup = args.speedup or _speedup(testbed, arrivals_s)
        arrivals_s = {name: of / speedup for name, of in arrivals_s.items()}
        study = Study(testbed, loads_of(arrivals_s), args.interval_s, args.solve_s)
        if args.report is not None:
            args.report.mkdir(parents=True, exist_ok=True)
    except ConfigError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"cannot make a folder of {args.report}: {error.strerror}; name another with --report")
    made = {"systems": study.systems, "ablations": study.ablations, "stronger_baselines": study.stronger}
    todo = [(group, name) for group, systems in made.items() for name in systems]
    played: dict[str, dict[str, Played]] = {group: {} for group in made}
    seconds: dict[str, float] = {}
    for group, name in track(todo, "playing", console=console, disable=not console.is_terminal):
        started_s = time.perf_counter()
        played[group][name] = play(
            made[group][name](), testbed, arrivals_s, args.load_s, make_before_break=not args.break_before_make
        )
        seconds[name] = time.perf_counter() - started_s
    figures = {group: {n: _figures(p) for n, p in of.items()} for group, of in played.items()}
    body = {
        "trace": args.trace.name,
        "queries": sum(map(len, arrivals_s.values())),
        "speedup": speedup,
        "peak_qps": sum(study.loads.peak_qps.values()),
        "slo_ms": {endpoint.name: 1e3 * endpoint.slo_s for endpoint in testbed.cluster.endpoints},
        "slo_rule": args.slo_rule,
        "unused_variants": testbed.unused,
        **figures,
        "ratios": _ratios(figures["systems"]),
        "seconds": seconds,
        "total_s": time.perf_counter() - begun_s,
    }
    body = with_machine(body, times=("seconds", "total_s"))
    if args.report is not None:
        for group, of in played.items():
            title = f"{args.trace.name}, {speedup:.2f} times as fast: {group.replace('_', ' ')}"
            runs = {n: (p.record, p.changes) for n, p in ({"proteus": played["systems"]["proteus"]} | of).items()}
            save_comparison(args.report / f"{group}.png", title, runs, PLOT_WINDOW_S)
        (args.report / "report.json").write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))
    if args.json:
        print(orjson.dumps(body).decode())
    else:
        _print(figures, speedup, body["peak_qps"])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--trace", type=Path, required=True, help="CSV with arrival_ms or arrival_s, and query_type")
    parser.add_argument("--profiles", type=Path, required=True, help="accuracy and latency of the variants, CSV")
    parser.add_argument("--cluster", type=_whole, required=True, help="workers by device type, as in cpu=20,gpu=10")
    parser.add_argument("--slo-multiple", type=_positive, default=2.0, help="objectives (default %(default)s)")
    parser.add_argument("--slo-rule", choices=SLO_RULES, default=SLO_RULES[0], help="of what (default %(default)s)")
    parser.add_argument("--slo-ms", type=_numbers, help="objectives of single query types, as in bert=150,t5=600")
    parser.add_argument("--speedup", type=_positive, help="factor on the trace's speed (default: to overload)")
    parser.add_argument("--interval-s", type=_positive, default=30.0, help="between plans (default %(default)s)")
    parser.add_argument("--solve-s", type=_positive, default=0.25, help="charged per plan (default %(default)s)")
    parser.add_argument("--load-s", type=_positive, default=1.0, help="to load a variant (default %(default)s)")
    parser.add_argument(
        "--break-before-make", action="store_true", help="workers that load a variant hold nothing meanwhile"
    )
    parser.add_argument("--report", type=Path, help="folder for plots and the JSON")
    return parser.parse_args()


def _speedup(testbed: Testbed, arrivals_s: Mapping[str, NDArray[np.float64]]) -> float:
    """The factor at which the busiest 10 s of the trace as it is would need `OVERLOAD` of what can be served.

    It leaves `SHORTEST_S` of the trace, or does not speed it up. Raises `ConfigError` where not all query types can be
    served at once.
    """
    peak_qps = loads_of(arrivals_s).peak_qps
    total_qps = sum(peak_qps.values())
    most_qps = saturation_qps(testbed, {name: qps / total_qps for name, qps in peak_qps.items() if qps})
    if most_qps <= LEAST_QPS:
        raise ConfigError(
            f"no placement on {len(testbed.workers)} workers serves all of {', '.join(peak_qps)} within their "
            "objectives, so that no speed of the trace is right; give more workers, longer objectives or --speedup"
        )
    longest_s = max(float(of[-1]) for of in arrivals_s.values() if len(of))
    return min(OVERLOAD * most_qps / total_qps, max(longest_s / SHORTEST_S, 1.0))


def _figures(played: Played) -> dict[str, Any]:
    solved = [change.plan.report.solve_s for change in played.changes]
    return {
        **Metrics.of(played.record).as_json(),
        "plans": len(played.changes) - 1,
        "largest_shed": max(c.plan.shed for c in played.changes if isinstance(c.plan, ClusterPlan)),
        "variants_loaded": sum(len(change.loading) for change in played.changes),
        "median_solve_s": statistics.median(solved),
        "max_solve_s": max(solved),
    }


def _ratios(systems: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What the paper compares in section 6.2: how many times Accord's figure the baselines' are."""
    ours = systems["proteus"]

    def times(name: str, metric: str) -> float | None:
        return systems[name][metric] / ours[metric] if ours[metric] and systems[name][metric] is not None else None

    return {
        "accuracy_drop": {name: times(name, "max_accuracy_drop_pct") for name in ("infaas_accuracy", "sommelier")},
        "violations": {
            name: times(name, "slo_violation_ratio") for name in ("sommelier", "infaas_accuracy", "clipper_ha")
        },
        "peak_throughput_over_clipper_ha": ours["peak_throughput_qps"] / systems["clipper_ha"]["peak_throughput_qps"]
        if systems["clipper_ha"]["peak_throughput_qps"]
        else None,
    }


def _print(figures: Mapping[str, Mapping[str, Mapping[str, Any]]], speedup: float, peak_qps: float) -> None:
    console = Console()
    for group, systems in figures.items():
        table = Table(
            title=f"{group.replace('_', ' ')}, trace {speedup:.2f} times as fast, {peak_qps:.0f} queries/s at peak"
        )
        for heading in HEADINGS:
            table.add_column(heading, justify="left" if heading == "system" else "right", no_wrap=True)
        for name, of in systems.items():
            table.add_row(
                name,
                f"{of['throughput_qps']:.0f}",
                f"{of['peak_throughput_qps']:.0f}",
                _percent(of["effective_accuracy_pct"]),
                _percent(of["max_accuracy_drop_pct"]),
                _percent(100 * of["slo_violation_ratio"]),
                str(of["plans"]),
            )
        console.print(table)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name and equals and value for name, equals, value in pairs):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER,NAME=NUMBER")
    return [(name, value) for name, _, value in pairs]


def _whole(text: str) -> dict[str, int]:
    numbers = _numbers(text)
    if not all(number == int(number) for number in numbers.values()):
        raise argparse.ArgumentTypeError(f"{text!r} has numbers that are not whole")
    return {name: int(number) for name, number in numbers.items()}


def _numbers(text: str) -> dict[str, float]:
    pairs = _pairs(text)
    numbers = {name: _positive(value) for name, value in pairs}
    if len(numbers) < len(pairs):
        raise argparse.ArgumentTypeError(f"{text!r} has a name twice; give it once")
    return numbers


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not 0.0 < value < inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


if __name__ == "__main__":
    main()
