"""Accuracy scaling on a fixed cluster of several device types: Accord's planner against the baselines of Proteus.

``python -m benchmarks.proteus --trace ../shared/data/proteus/trace_twitter.csv.gz
--tuning-trace ../shared/data/proteus/trace_bursty.csv.gz --profiles ../shared/data/proteus/profiles.csv
--cluster cpu=20,gpu_pascal=10,gpu_ampere=10 --slo-multiple 2 --json --plot twitter.png``
plays a trace of queries of several types through every system in the simulator: the same dispatcher, planner and
control loop that serve. Systems are played with several headrooms; a baseline's row is that of the headroom which suits
it best on the tuning trace. docs/metrics.md has the metrics, docs/accuracy-scaling.md what the systems and the
objectives are. ``--trace on_off``, ``flash_crowd`` or ``gamma`` makes bursts up (`workload.bursts`). Runs are
repeatable bit for bit: solving is charged with a constant time, and measured beside it.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.machine import with_machine
from benchmarks.proteus import summary
from benchmarks.proteus.arguments import arguments
from benchmarks.proteus.frontier_plot import save_frontier
from benchmarks.proteus.play import loads_of
from benchmarks.proteus.speed import MIX, made_up, speedup
from benchmarks.proteus.sweep import Case, Run, Runs, best_headrooms, reported, run_all, tuning
from benchmarks.proteus.systems import AS_DESCRIBED, SWEPT, SYSTEMS, WITHOUT, Study
from benchmarks.proteus.testbed import Testbed
from catalog.errors import ConfigError
from deployments.processes import processes
from simulator.reporting.comparison_plot import save_comparison
from workload.bursts import SHAPES
from workload.typed_trace import read_typed_trace

PLOT_WINDOW_S = 2.0
BURSTS_SEED = 0
TABLE_WIDTH = 100

GROUPS = {"systems": SWEPT, "as_described": ("proteus", *AS_DESCRIBED), "ablations": ("proteus", *WITHOUT)}
"""What is drawn over time in one picture."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A trace as it is played, and what is known of it."""

    arrivals_s: Mapping[str, NDArray[np.float64]]
    study: Study
    speedup: float


def main() -> None:
    """Play and print."""
    args = arguments(__doc__)
    begun_s = time.perf_counter()
    try:
        scene = _scene(args.trace, args, None)
        tuned = None if args.tuning_trace is None else _scene(args.tuning_trace, args, scene.study.testbed)
        if args.report is not None:
            args.report.mkdir(parents=True, exist_ok=True)
    except ConfigError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"cannot make a folder of {args.report}: {error.strerror}; name another with --report")
    chosen = {name: scene.study.headroom_of(name) for name in SYSTEMS}
    with processes() as executor:
        if tuned is not None:
            tried = run_all("tuning", tuning(args.headrooms), lambda case: _run(case, tuned, args), executor)
            chosen |= best_headrooms(tried)

        def run(case: Case) -> Run:
            shown = args.report is not None and not case.seed and case.headroom == chosen[case.system]
            return _run(case, scene, args, keeps_record=shown)

        runs = run_all("playing", reported(args.headrooms, chosen, args.seeds), run, executor)
    systems = summary.Summary(runs, chosen).systems
    met = summary.goals(systems)
    body = {
        "trace": args.trace.name,
        "tuning_trace": None if args.tuning_trace is None else args.tuning_trace.name,
        "queries": sum(map(len, scene.arrivals_s.values())),
        "speedup": scene.speedup,
        "peak_qps": sum(scene.study.loads.peak_qps.values()),
        "slo_ms": {endpoint.name: 1e3 * endpoint.slo_s for endpoint in scene.study.testbed.cluster.endpoints},
        "slo_rule": args.slo_rule,
        "seeds": args.seeds,
        "unused_variants": scene.study.testbed.unused,
        "systems": systems,
        "ratios": summary.ratios(systems),
        "goals": met,
        "goals_met": all(met.values()),
        "seconds": {name: sum(f.seconds for case, f in runs.items() if case.system == name) for name in SYSTEMS},
        "total_s": time.perf_counter() - begun_s,
    }
    body = with_machine(body, times=("seconds", "total_s"))
    title = f"{args.trace.name}, {scene.speedup:.2f} times as fast, {body['peak_qps']:.0f} queries/s at peak"
    if args.plot is not None:
        save_frontier(args.plot, title, systems)
    if args.report is not None:
        _report(args.report, title, runs, chosen)
        (args.report / "report.json").write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))
    if args.json:
        print(orjson.dumps(body).decode())
    else:
        Console(width=max(Console().width, TABLE_WIDTH)).print(summary.as_table(systems, title))


def _scene(trace: Path, args: argparse.Namespace, testbed: Testbed | None) -> Scene:
    """Read a trace; raises `ConfigError` where it cannot be played on the ``testbed``, None to make one for it."""
    bursts = trace.name in SHAPES and not trace.exists()
    arrivals_s: Mapping[str, NDArray[np.float64]] = {} if bursts else read_typed_trace(trace)
    if testbed is None:
        testbed = Testbed.of(
            args.profiles, args.cluster, sorted(arrivals_s or MIX), args.slo_multiple, args.slo_rule, args.slo_ms
        )
    if bursts:
        arrivals_s = made_up(trace.name, testbed, BURSTS_SEED)
    known = {endpoint.name for endpoint in testbed.cluster.endpoints}
    if known != arrivals_s.keys():
        raise ConfigError(
            f"{trace} has query types {', '.join(sorted(arrivals_s))}, and {args.trace} {', '.join(sorted(known))}; "
            "give a tuning trace of the same types"
        )
    factor = args.speedup or (1.0 if bursts else speedup(testbed, arrivals_s))
    arrivals_s = {name: of / factor for name, of in arrivals_s.items()}
    return Scene(arrivals_s, Study(testbed, loads_of(arrivals_s), args.interval_s, args.solve_s), factor)


def _run(case: Case, scene: Scene, args: argparse.Namespace, *, keeps_record: bool = False) -> Run:
    return Run(case, scene.study, scene.arrivals_s, args.load_s, not args.break_before_make, keeps_record)


def _report(folder: Path, title: str, runs: Runs, chosen: Mapping[str, float]) -> None:
    for group, names in GROUPS.items():
        shown = {name: runs[Case(name, chosen[name], 0)].played for name in names}
        records = {name: (played.record, played.changes) for name, played in shown.items() if played is not None}
        save_comparison(folder / f"{group}.png", f"{title}: {group.replace('_', ' ')}", records, PLOT_WINDOW_S)


if __name__ == "__main__":
    main()
