"""How many queries a second the simulator plays, with decision tables, on one core.

``python -m benchmarks.simulator --json``. The tables are made first and do not count. ``queries_per_s`` and
``twitter_60_workers_s`` are of the same runs: the whole trace, from its arrival instants to the record of every query
and batch, as a median of wall time. ``by_load`` has constant loads, from batches of one to full queues.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import yaml
from numpy.typing import NDArray

from benchmarks.arguments import positive, whole
from benchmarks.machine import with_machine
from benchmarks.ramsis.task import DEVICE, PROFILES_FILE, read_candidates
from benchmarks.ramsis.workloads import TWITTER_FILE
from catalog.errors import ConfigError
from deployments.processes import processes
from deployments.router.tables.making import table_store
from dispatch.balancing.round_robin import RoundRobin
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.grid import TableGrid
from dispatch.selection.ramsis.tables.maker import make_grid
from dispatch.table_plan import with_tables
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.record import Record
from simulator.reporting.plot import save_plots
from simulator.reporting.report import Report
from workload import renewal
from workload.rate import RateSchedule
from workload.trace import read_trace

ENDPOINT = "image"
LOADS_QPS = (400.0, 1200.0, 2400.0, 4000.0)
SECONDS = 50.0
INTERVAL_S = 10.0


def main() -> None:
    """Make tables, play, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object last")
    parser.add_argument(
        "--profiles",
        type=Path,
        default=PROFILES_FILE,
        help="accuracy and latency of the variants, CSV (default %(default)s)",
    )
    parser.add_argument(
        "--trace", type=Path, default=TWITTER_FILE, help="time_s and load_qps, CSV (default %(default)s)"
    )
    parser.add_argument("--workers", type=whole, default=60)
    parser.add_argument("--slo-ms", type=positive, default=150.0)
    parser.add_argument("--repeats", type=whole, default=5)
    parser.add_argument("--report", type=Path, help="folder for the trace's report: report.json and a picture")
    args = parser.parse_args()
    try:
        candidates = read_candidates(args.profiles)
        trace = _trace(args.trace)
        if args.report is not None:
            args.report.mkdir(parents=True, exist_ok=True)
    except ConfigError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"cannot make a folder of {args.report}: {error.strerror}; name another with --report")
    grid = _grid(candidates, args.slo_ms / 1e3, args.workers)
    by_load = []
    for load_qps in LOADS_QPS:
        arrivals_s = renewal.Poisson(RateSchedule.constant(load_qps), seed=1).times_s(SECONDS)
        seconds, record = _play(candidates, grid, args, arrivals_s)
        by_load.append(_figures(seconds, record) | {"load_qps": load_qps})
        print(f"{load_qps:g} queries/s: {by_load[-1]}", file=sys.stderr, flush=True)
    seconds, record = _play(candidates, grid, args, trace)
    if args.report is not None:
        _write(record, args.report)
    of_trace = _figures(seconds, record)
    figures: dict[str, Any] = {
        "queries_per_s": of_trace.pop("queries_per_s"),
        f"twitter_{args.workers}_workers_s": seconds,
        **of_trace,
        "by_load": by_load,
    }
    figures = with_machine(figures, times=(f"twitter_{args.workers}_workers_s",), rates=("queries_per_s",))
    if args.json:
        print(orjson.dumps(figures).decode())
    else:
        print(yaml.safe_dump(figures, sort_keys=False))


def _trace(file: Path) -> NDArray[np.float64]:
    if not file.is_file():
        raise ConfigError(f"no trace at {file}; name the file with --trace")
    return read_trace(file, seed=1).times_s(np.inf)


def _grid(candidates: tuple[Candidate, ...], slo_s: float, workers: int) -> TableGrid:
    problem = WorkerProblem.of(candidates, slo_s, workers, Poisson(1.0), "per_decision")

    def on_table(done: int, wanted: int) -> None:
        print(f"tables: {done} of {wanted}", file=sys.stderr, flush=True)

    with processes() as executor:
        return make_grid(problem, executor, table_store(), on_table)


def _play(
    candidates: tuple[Candidate, ...], grid: TableGrid, args: argparse.Namespace, arrivals_s: NDArray[np.float64]
) -> tuple[float, Record]:
    """Median wall time of the repeats, and the record, which is the same each time."""
    seconds = []
    for _ in range(args.repeats):
        greedy = EndpointPlan.of_stage(
            ENDPOINT,
            StagePlan({DEVICE: candidates}, GreedySelection(), RoundRobin()),
            slo_s=args.slo_ms / 1e3,
            max_queued_rows=sys.maxsize,
        )
        plan = with_tables(greedy, {DEVICE: grid})
        workers = {f"w{number:03}": DEVICE for number in range(args.workers)}
        host = Host(Plan(1, {ENDPOINT: plan}), workers, PlannedLatency(plan))
        begun_s = time.perf_counter()
        record = host.run({ENDPOINT: arrivals_s})
        seconds.append(time.perf_counter() - begun_s)
    return statistics.median(seconds), record


def _write(record: Record, folder: Path) -> None:
    report = Report.of(record, INTERVAL_S)
    save_plots(report, folder)
    (folder / "report.json").write_bytes(orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))


def _figures(seconds: float, record: Record) -> dict[str, Any]:
    report = Report.of(record, INTERVAL_S).endpoints[ENDPOINT]
    return {
        "queries_per_s": report.queries / seconds,
        "queries": report.queries,
        "mean_batch": report.mean_batch,
        "accuracy_pct": report.accuracy_pct,
        "violation_pct": report.violation_pct,
    }


if __name__ == "__main__":
    main()
