"""Accuracy of RAMSIS, of two baselines and of ours, over load or over workers, in simulation.

``python -m benchmarks.ramsis --profiles ../shared/data/ramsis/image_profiles.csv --trace constant --workers 60
--slo-ms 150 --json``. ``--trace constant`` plays 30 s of every load, which all systems know (RAMSIS, section 7.2);
``twitter`` the five-minute trace of section 7.1, and any other value is a trace file, with the load seen over the last
500 ms. Batches take the profile's p95, as in the authors' simulator, or with ``--latency random`` times at random with
its mean and deviation. ``ramsis`` is the paper's formulation, ``accord`` is ours; ``ramsis_slack``, ``ramsis_grouped``
and ``accord_single`` have single parts of ours. Accuracy is the mean over queries in time; increases are in percentage
points, over all points of the sweep: mean, median and range.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson
from rich.console import Console

from benchmarks.arguments import picture_file, positive, whole
from benchmarks.machine import with_machine
from benchmarks.ramsis import workloads
from benchmarks.ramsis.summary import as_json, as_table, increases, save_plot
from benchmarks.ramsis.sweep import play
from benchmarks.ramsis.task import Task, read_front, read_latencies
from benchmarks.ramsis.workloads import Workload
from catalog.errors import ConfigError
from deployments.processes import processes
from deployments.router.tables.making import table_store
from dispatch.selection.policy import Candidate

LOADS_QPS = tuple(float(load) for load in range(400, 4001, 400))
REPEATS = 3
TABLE_WIDTH = 150


def main() -> None:
    """Make, play, and print."""
    args = _arguments()
    try:
        random = args.latency == "random"
        candidates = read_front(args.profiles, random=random)
        _check_objectives(args.slo_ms, candidates)
        measured = {name: each.profile for name, each in read_latencies(args.profiles).items()} if random else None
        by_load = _workloads(args)
    except ConfigError as error:
        sys.exit(str(error))
    cases = [
        (Task(candidates, slo_ms / 1e3, workers, measured), load)
        for slo_ms in args.slo_ms
        for workers in args.workers
        for load in by_load
    ]
    repeats = args.repeats or (REPEATS if args.trace == "constant" else 1)
    seeds = range(1, 2 if by_load[0].recorded_s is not None else repeats + 1)
    with processes() as executor:
        points = play(cases, seeds, executor, table_store())
    if args.plot is not None:
        save_plot(points, args.plot)
    if args.json:
        variants = [c.variant for c in candidates]
        body = {"trace": args.trace, "slo_ms": args.slo_ms, "latency": args.latency, "variants": variants}
        print(orjson.dumps(with_machine(body | as_json(points))).decode())
    else:
        console = Console()
        Console(width=max(console.width, TABLE_WIDTH)).print(as_table(points))
        print(increases(points))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--profiles", type=Path, required=True, help="accuracy and latency of the variants, CSV")
    parser.add_argument("--trace", default="constant", help="constant, twitter, or a trace file (default constant)")
    parser.add_argument(
        "--trace-file",
        type=Path,
        default=workloads.TWITTER_FILE,
        help="where the twitter trace is (default %(default)s)",
    )
    parser.add_argument("--workers", type=_whole_numbers, default=[60], help="numbers of workers, as in 60,70,80")
    parser.add_argument("--slo-ms", type=_loads, default=[150.0], help="objectives, as in 150,300,500 (default 150)")
    parser.add_argument(
        "--latency", choices=("p95", "random"), default="p95", help="what batches take (default: the profile's p95)"
    )
    parser.add_argument("--loads", type=_loads, default=LOADS_QPS, help="queries/s for --trace constant, as in 400,800")
    parser.add_argument(
        "--repeats", type=whole, help=f"seeds per point (default {REPEATS} for constant loads, 1 for a trace)"
    )
    parser.add_argument("--plot", type=picture_file, help="PNG file for a plot of accuracy")
    return parser.parse_args()


def _check_objectives(slo_ms: Sequence[float], candidates: Sequence[Candidate]) -> None:
    """Raise `ConfigError` for an objective that not even a single query of the fastest variant meets."""
    fastest = min(candidates, key=lambda candidate: candidate.latency_s[1])
    if min(slo_ms) < (latency_ms := 1e3 * fastest.latency_s[1]):
        raise ConfigError(
            f"--slo-ms {min(slo_ms):g}: the fastest variant, {fastest.variant}, takes {latency_ms:.3g} ms; give more"
        )


def _workloads(args: argparse.Namespace) -> list[Workload]:
    if args.trace == "constant":
        return [workloads.constant(load_qps, max(args.loads)) for load_qps in args.loads]
    if args.trace == "twitter":
        return [workloads.twitter(args.trace_file)]
    return [workloads.recorded(Path(args.trace))]


def _loads(text: str) -> list[float]:
    return [positive(part) for part in text.split(",")]


def _whole_numbers(text: str) -> list[int]:
    return [whole(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
