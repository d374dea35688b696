"""Accuracy scaling live: three device types, several endpoints, the real controller, beside the simulator.

``python -m benchmarks.live_proteus --json``. Twelve emulated workers (docs/configuration.md, "Rehearsing a cluster") in
three pools take the times of the published profiles, multiplied by ``--slower``, as objectives are: so many times
slower, a load that a router on two cores carries keeps them busy. Excerpts of traces (`--twitter`, `--bursty`) are
thinned out so that their busiest five seconds need ``--overload`` of what the least accurate variants could serve.
Accord is planner ``proteus`` as it ships; the baselines of Proteus (section 6.1.1) are planners of the same controller
(`benchmarks/live_proteus/planners.py`), with the same batching, early drop, reports and rollout. The simulator then
plays the instants at which queries left, with ways to workers and back, and times for plans and loading, as measured,
five times over with other draws.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler.planners.proteus.search import Problem
from autoscaler.planners.proteus.stages import largest_headroom
from benchmarks.arguments import at_least_0, picture_file, positive, seed, whole
from benchmarks.live_proteus import loads
from benchmarks.live_proteus.figures import Outcome, Row, goals_of, row_of
from benchmarks.live_proteus.live import play
from benchmarks.live_proteus.picture import save_picture
from benchmarks.live_proteus.scene import DEVICES, SYSTEMS, TRANSPORT_MS, Scene
from benchmarks.live_proteus.simulated import cluster_for, simulate
from benchmarks.machine import with_machine
from catalog.errors import ConfigError

ERR = Console(stderr=True)
DATA = Path(__file__).parents[3] / "shared" / "data" / "proteus"
TRACES = ("twitter", "bursty")
WORKERS = {"cpu": 6, "gpu_pascal": 3, "gpu_ampere": 3}
"""The paper's cluster, 20, 10 and 10, in small."""


def main() -> None:
    """Serve, load, simulate and print."""
    args = _arguments()
    begun_s = time.monotonic()
    try:
        traces = {name: loads.read(_path(args, name), name, args.seed) for name in args.traces}
        types = loads.most_frequent(traces[args.traces[0]], args.endpoints)
        played = loads.of_types(traces, types)
        scene = Scene(args.profiles, args.workers, types, args.slo_multiple, args.slower, args.seed)
        with TemporaryDirectory() as name:
            folder = Path(name)
            scene.write(folder)
            most_qps = {name: saturation_qps(scene, folder, of) for name, of in played.items()}
            seconds = args.seconds or loads.longest_s(played.values(), args.warm_s)
            excerpts = [
                loads.excerpt(name, of, seconds, args.warm_s, args.overload * most_qps[name], args.seed)
                for name, of in played.items()
            ]
            rows = [_row(scene, system, load, folder) for load in excerpts for system in args.only]
    except ConfigError as error:
        sys.exit(str(error))
    goals = goals_of(rows)
    body = {
        "workers": scene.workers,
        "slo_ms": {name: 1e3 * slo_s for name, slo_s in scene.slo_s.items()},
        "slower": scene.slower,
        "saturation_qps": most_qps,
        "peak_qps": {load.trace: sum(load.known(scene.total_workers).peak_qps.values()) for load in excerpts},
        "rows": [row.as_json() for row in rows],
        "goals": goals,
        "goals_met": all(each["met"] for each in goals.values()),
        "total_s": time.monotonic() - begun_s,
    }
    body = with_machine(body, times=("total_s",))
    if args.picture is not None:
        save_picture(rows, args.picture)
    if args.json:
        print(orjson.dumps(body).decode())
    else:
        _print(rows, body)


def saturation_qps(scene: Scene, folder: Path, arrivals_s: dict[str, loads.Floats]) -> float:
    """What all workers could serve of this mix, whatever the accuracy."""
    cluster, _ = cluster_for(scene, "accord", folder, TRANSPORT_MS / 1e3)
    queries = {name: len(of) for name, of in arrivals_s.items()}
    mix = {name: count / sum(queries.values()) for name, count in queries.items()}
    return largest_headroom(Problem(ProteusPlanner(cluster).columns, dict(scene.workers), mix))


def _row(scene: Scene, system: str, load: loads.Load, folder: Path) -> Row:
    played = play(scene, system, load, folder, _say)
    return row_of(system, load, played, simulate(scene, system, load, played, folder))


def _path(args: argparse.Namespace, name: str) -> Path | None:
    given: Path | None = getattr(args, name)
    if given is not None:
        return given
    shared = DATA / f"trace_{name}.csv.gz"
    return shared if shared.is_file() else None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument(
        "--profiles", type=Path, default=DATA / "profiles.csv", help="of variants (default %(default)s)"
    )
    parser.add_argument("--twitter", type=Path, help=f"trace; default that in {DATA}, or one that is made up")
    parser.add_argument("--bursty", type=Path, help="trace; default the same")
    parser.add_argument("--traces", type=_traces, default=list(TRACES), help="of these (default both)")
    parser.add_argument(
        "--workers", type=_workers, default=WORKERS, help="by pool (default cpu=6,gpu_pascal=3,gpu_ampere=3)"
    )
    parser.add_argument(
        "--endpoints", type=whole, default=5, help="the most frequent query types (default %(default)s)"
    )
    parser.add_argument("--slo-multiple", type=positive, default=2.0, help="objectives (default %(default)s)")
    parser.add_argument("--slower", type=positive, default=4.0, help="times of profiles (default %(default)s)")
    parser.add_argument(
        "--overload", type=positive, default=0.5, help="of saturation, at the peak (default %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=positive, help=f"of each load that count (default {loads.COUNTED_S:g}, or what traces have)"
    )
    parser.add_argument("--warm-s", type=at_least_0, default=8.0, help="of each load before them (default %(default)s)")
    parser.add_argument("--seed", type=seed, default=1, help="of thinning and ways (default %(default)s)")
    parser.add_argument("--only", type=_systems, default=list(SYSTEMS), help=f"of {','.join(SYSTEMS)} (default all)")
    parser.add_argument("--picture", type=picture_file, help="PNG file for accuracy drop over violations")
    return parser.parse_args()


def _say(words: str) -> None:
    ERR.print(words, style="dim", highlight=False)


def _print(rows: Sequence[Row], body: dict[str, Any]) -> None:
    console = Console()
    table = Table(title="accuracy % (violations %)")
    for heading in ("trace", "system", "live", "simulated", "plans", "way ms"):
        table.add_column(heading, justify="left" if heading in ("trace", "system") else "right")
    for row in rows:
        cells = (_cell(row.live), _cell(row.simulated), str(row.plans), f"{1e3 * row.times_s['path_s']:.1f}")
        table.add_row(row.trace, row.system, *cells)
    console.print(table)
    for name, goal in body["goals"].items():
        console.print(f"{name}: {'met' if goal['met'] else 'missed'} {goal}", highlight=False)


def _cell(outcome: Outcome) -> str:
    accuracy = "-" if outcome.accuracy_pct is None else f"{outcome.accuracy_pct:.2f}"
    return f"{accuracy} ({outcome.violation_pct:.2f})"


def _known(text: str, known: Sequence[str]) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is unknown; use {', '.join(known)}")
    return names


def _traces(text: str) -> list[str]:
    return _known(text, TRACES)


def _systems(text: str) -> list[str]:
    return _known(text, tuple(SYSTEMS))


def _workers(text: str) -> dict[str, int]:
    found = dict(WORKERS)
    for part in text.split(","):
        name, _, number = part.partition("=")
        if name not in DEVICES or not number.isdecimal() or int(number) < 1:
            raise argparse.ArgumentTypeError(f"{part!r}; give POOL=NUMBER, with pools {', '.join(DEVICES)}")
        found[name] = int(number)
    return found


if __name__ == "__main__":
    main()
