"""RAMSIS live with many workers, beside the simulator and what decision tables promise.

``python -m benchmarks.live_ramsis --json``. The paper's image task on emulated workers (docs/configuration.md,
"Rehearsing a cluster"): each takes the times of the published profiles and holds no core, so that twelve of them run on
two cores with HTTP, router, policies, remote calls and decision tables as they are. Times are ``--slower`` times as
long, as is the objective, so that what the router carries keeps the workers busy. Every system is driven at all loads,
the lowest first: shares of what the workers bear, at a constant load and with an excerpt of a trace (`--trace`, one row
an interval; one interval takes a second). Systems with decision tables are driven twice: in a ``first`` session tables
come as they are made, before the second those for its loads and latencies are made and kept, as the paper makes them
beforehand (section 3.1). The simulator then plays the very instants at which queries left, with the plan of the live
router, run times drawn as the workers draw them, and ways to the worker and back as measured in each load.
``expected`` is what was promised at the end of a load.

Violations are those by the server's account, accuracies are means of the measured accuracies of the variants that
answered in time.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.arguments import at_least_0, picture_file, positive, seed, whole
from benchmarks.live_ramsis.figures import Outcome, Row, row_of
from benchmarks.live_ramsis.goals import goals_of
from benchmarks.live_ramsis.live import play
from benchmarks.live_ramsis.loads import CONSTANT, SHARES, TRACE, Case, capacity_qps, cases
from benchmarks.live_ramsis.picture import save_picture
from benchmarks.live_ramsis.scene import BY_TABLES, SELECTIONS, Scene
from benchmarks.live_ramsis.simulated import make_tables, plan_of, simulate
from benchmarks.machine import with_machine
from benchmarks.ramsis.task import PROFILES_FILE
from benchmarks.ramsis.workloads import TWITTER_FILE
from catalog.errors import ConfigError

ERR = Console(stderr=True)
CACHE_DIR = "ACCORD_CACHE_DIR"


def main() -> None:
    """Serve, load, simulate and print."""
    args = _arguments()
    scene = Scene(args.profiles, args.workers, args.slo_ms, args.seed, args.slower)
    begun_s = time.monotonic()
    try:
        trace = args.trace if args.trace is not None else TWITTER_FILE if TWITTER_FILE.is_file() else None
        loads = cases(scene, trace, args.shares, args.traces, args.seconds, args.warm_s)
    except ConfigError as error:
        sys.exit(str(error))
    rows = _rows(scene, args.only, loads)
    goals = goals_of(rows)
    body = {
        "workers": scene.workers,
        "slo_ms": scene.slo_ms,
        "slower": scene.slower,
        "capacity_qps": capacity_qps(scene),
        "trace": "made up" if trace is None else trace.name,
        "seconds": args.seconds,
        "rows": [row.as_json() for row in rows],
        "goals": goals,
        "goals_met": all(each["met"] for each in goals.values()),
        "total_s": time.monotonic() - begun_s,
    }
    body = with_machine(body, times=("total_s", "path_s"))
    if args.picture is not None:
        save_picture(rows, args.picture)
    if args.json:
        print(orjson.dumps(body).decode())
    else:
        _print(rows, body)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--profiles", type=Path, default=PROFILES_FILE, help="of the variants (default %(default)s)")
    parser.add_argument("--trace", type=Path, help=f"loads by interval; default {TWITTER_FILE}, or a random walk")
    parser.add_argument("--workers", type=whole, default=12, help="emulated workers (default %(default)s)")
    parser.add_argument("--slo-ms", type=positive, default=150.0, help="published objective (default %(default)s)")
    parser.add_argument(
        "--slower", type=positive, default=2.0, help="times of profiles, and objective (default %(default)s)"
    )
    parser.add_argument("--seconds", type=positive, default=22.0, help="of each load that count (default %(default)s)")
    parser.add_argument("--warm-s", type=at_least_0, default=5.0, help="of each load before them (default %(default)s)")
    parser.add_argument("--seed", type=seed, default=1, help="of arrivals and run times (default %(default)s)")
    parser.add_argument(
        "--only", type=_systems, default=list(SELECTIONS), help=f"systems, of {','.join(SELECTIONS)} (default all)"
    )
    parser.add_argument("--shares", type=_shares, default=list(SHARES), help="of the capacity (default 0.2 to 0.95)")
    parser.add_argument("--traces", type=_traces, default=[CONSTANT, TRACE], help="constant, twitter (default both)")
    parser.add_argument("--picture", type=picture_file, help="PNG file for a plot")
    return parser.parse_args()


def _rows(scene: Scene, systems: Sequence[str], loads: Sequence[Case]) -> list[Row]:
    found = []
    with TemporaryDirectory() as name, _cache(Path(name) / "cache"):
        folder = Path(name)
        scene.write(folder)
        firsts, sessions = {}, {}
        for system in systems:
            if system in BY_TABLES:
                firsts[system] = play(scene, system, loads, folder, _say)
                with _bars() as progress:
                    make_tables(scene, system, firsts[system], folder, progress)
            sessions[system] = play(scene, system, loads, folder, _say)
        with _bars() as progress:
            for system, session in sessions.items():
                simulated = simulate(scene, system, session, folder, progress)
                plan, _ = plan_of(scene, system, folder)
                before = firsts.get(system, [None] * len(session))
                found += [
                    row_of(scene, system, played, simulated, number, plan, first)
                    for number, (played, first) in enumerate(zip(session, before, strict=True))
                ]
    return found


@contextmanager
def _cache(folder: Path) -> Iterator[None]:
    """Nothing that was kept before is found, in services either."""
    before = os.environ.get(CACHE_DIR)
    os.environ[CACHE_DIR] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE_DIR]
        else:
            os.environ[CACHE_DIR] = before


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=ERR
    )


def _say(words: str) -> None:
    ERR.print(words, style="dim", highlight=False)


def _print(rows: Sequence[Row], body: dict[str, Any]) -> None:
    console = Console()
    table = Table(
        title=f"accuracy % (violations %), {body['workers']} workers, {body['capacity_qps']:.0f} queries/s at most"
    )
    for heading in ("system", "load", "queries/s", "live", "at first", "simulated", "expected", "way ms"):
        table.add_column(heading, justify="left" if heading in ("system", "load") else "right")
    for row in rows:
        cells = (*map(_cell, (row.live, row.first, row.simulated, row.expected)), f"{1e3 * row.path['path_s']:.1f}")
        table.add_row(row.system, f"{row.trace} {row.share:.0%}", f"{row.load_qps:.0f}", *cells)
    console.print(table)
    for name, goal in body["goals"].items():
        console.print(f"{name}: {'met' if goal['met'] else 'missed'} {goal}", highlight=False)


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    accuracy = "-" if outcome.accuracy_pct is None else f"{outcome.accuracy_pct:.2f}"
    return f"{accuracy} ({outcome.violation_pct:.2f})"


def _systems(text: str) -> list[str]:
    return _known(text, tuple(SELECTIONS))


def _traces(text: str) -> list[str]:
    return _known(text, (CONSTANT, TRACE))


def _known(text: str, known: Sequence[str]) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is unknown; use {', '.join(known)}")
    return names


def _shares(text: str) -> list[float]:
    try:
        shares = sorted(float(part) for part in text.split(","))
    except ValueError:
        shares = []
    if not shares or not all(0.0 < share < 2.0 for share in shares):
        raise argparse.ArgumentTypeError(f"{text!r} are no shares; give some, as in 0.2,0.6")
    return shares


if __name__ == "__main__":
    main()
