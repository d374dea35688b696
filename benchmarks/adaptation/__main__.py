"""How fast a running service adapts to its load, and what clients notice of new plans, variants and workers.

``python -m benchmarks.adaptation --json``. Starts ``accord run configs/accuracy-scaling.yaml`` (as a copy with another
port, small reservations and a state of its own), sends Poisson arrivals to both endpoints at once, and measures, on one
service: how long the planner takes to follow a load that rises to four times as much and falls back; what queries sent
while workers change variants wait more than others; and whether any query fails while the pool grows and shrinks. The
same step is then played on a second service that serves the most accurate variant always.

The step's load is found beforehand: `benchmarks.adaptation.calibration`. Times are medians over rounds, failures
sums. A query is late by the client's own count, from the instant at which it was to leave.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from benchmarks.adaptation.answers import Answers
from benchmarks.adaptation.calibration import Loads, calibrate, switch_load_qps
from benchmarks.adaptation.picture import save_picture
from benchmarks.adaptation.rescaling import RESCALING_S, Rescale, rescale_figures
from benchmarks.adaptation.service import Service, planned_config, running, unplanned_config
from benchmarks.adaptation.status_watch import Health, StatusWatch
from benchmarks.adaptation.step import StepLoad, phase_figures, step_figures
from benchmarks.adaptation.switching import SWITCHING_S, ObjectiveSwitch, switch_figures
from benchmarks.adaptation.traffic import Action, Played, nothing, send, shared_out
from benchmarks.arguments import positive, whole
from benchmarks.machine import with_machine
from catalog.errors import ConfigError
from serve_app.cli.drive import allow_open_files, run_loop
from serve_app.loadgen.dataset import Dataset, load_dataset
from workload.rate import RateSchedule

CONFIG = Path(__file__).parents[2] / "configs" / "accuracy-scaling.yaml"
MOST_QPS = 700.0
"""Client, proxy, router and workers share the cores: what a small machine bears beside the workers."""

WARM_UP_QPS, WARM_UP_S = 60.0, 10.0
"""Before loads are sought: what a run takes on this machine under load is known then."""

WORKERS_WITHIN_S = 60.0

GOALS = {
    "plan_in_force_s": ("s", 2.0),
    "violations_recovered_s": ("s", 5.0),
    "accuracy_recovered_s": ("s", 15.0),
    "failed_queries": ("", 0),
    "switch_added_p99_ms": ("ms", 100.0),
    "switch_failed_queries": ("", 0),
    "rescale_failed_queries": ("", 0),
}
"""The figures that matter with the most that each shall be."""


@dataclass(frozen=True, eq=False)
class Planned:
    """What the planned service was put through: the figures by part, and the step itself for the picture."""

    loads: Loads
    figures: dict[str, dict[str, Any]]
    step: Played
    decisions: list[dict[str, Any]]


def main() -> None:
    """Run and print."""
    args = _arguments()
    begun_s = time.perf_counter()
    dataset = load_dataset("test", None)
    allow_open_files()
    try:
        with TemporaryDirectory() as folder:
            if args.report is not None:
                args.report.mkdir(parents=True, exist_ok=True)
            config = planned_config(args.config, Path(folder) / "state.db")
            planned = _planned(config, Path(folder), dataset, args.rounds, args.most_qps)
            baseline = _baseline(config, Path(folder), dataset, planned.loads)
    except ConfigError as error:
        sys.exit(str(error))
    once = StepLoad(planned.loads, 1)
    flat = {name: value for part in planned.figures.values() for name, value in part.items() if name in GOALS}
    body = {
        **{name: flat[name] for name in GOALS},
        **{part: {n: v for n, v in of.items() if n not in GOALS} for part, of in planned.figures.items()},
        "baseline": {"phases": phase_figures(once, baseline), "failed_queries": int(baseline.failed.sum())},
        "total_s": time.perf_counter() - begun_s,
    }
    body = with_machine(body, times=("plan_in_force_s", "switch_added_p99_ms", "total_s"))
    if args.report is not None:
        load = StepLoad(planned.loads, args.rounds)
        save_picture(args.report / "step.png", load, planned.step, planned.decisions, baseline)
        (args.report / "report.json").write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))
    if args.json:
        print(orjson.dumps(body).decode())
    else:
        _print(body)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=CONFIG, help="a Serve config with a planner")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--rounds", type=whole, default=3, help="of the step (default %(default)s)")
    parser.add_argument(
        "--most-qps", type=positive, default=MOST_QPS, help="of all endpoints together (default %(default)s)"
    )
    parser.add_argument("--report", type=Path, help="folder for a picture of the step and the JSON")
    return parser.parse_args()


def _planned(config: dict[str, Any], folder: Path, dataset: Dataset, rounds: int, most_qps: float) -> Planned:
    command = [sys.executable, "-m", "serve_app.cli.main", "run"]
    with running(config, folder, command, dataset.bodies[0]) as service:
        _wait_for_workers(service)
        _say(f"warming up with {WARM_UP_QPS:.0f} queries/s")
        _constant(service, dataset, WARM_UP_QPS, WARM_UP_S, nothing)
        loads = calibrate(service, most_qps)
        _say(f"step from {loads.base_qps:.0f} to {loads.step_qps:.0f} queries/s, {rounds} times")
        load = StepLoad(loads, rounds)
        with StatusWatch() as watch:
            step = run_loop(send(service, dataset, load.rates(list(service.slo_ms)), load.duration_s, nothing))
            decisions = service.plans()
            switch_qps = switch_load_qps(service, most_qps)
            _say(f"changing an objective back and forth at {switch_qps:.0f} queries/s")
            switch = ObjectiveSwitch(service, next(iter(service.slo_ms)))
            switched = _constant(service, dataset, switch_qps, SWITCHING_S, switch.run)
            of_switch = service.plans()
            _say("growing and shrinking the pool")
            rescale = Rescale(service)
            rescaled = _constant(service, dataset, loads.base_qps, RESCALING_S, rescale.run)
            of_rescale = service.plans()
        health = Health.of(watch.samples, switch.changes_s + rescale.changes_s)
    figures = {
        "step": step_figures(load, step, decisions, shared_out(loads.step_qps, service)),
        "switch": switch_figures(switch, switched, of_switch),
        "rescale": rescale_figures(rescale, rescaled, of_rescale),
        "status": {f"status_{name}": seconds for name, seconds in asdict(health).items()},
    }
    return Planned(loads, figures, step, decisions)


def _baseline(config: dict[str, Any], folder: Path, dataset: Dataset, loads: Loads) -> Answers:
    command = [sys.executable, "-m", "serve_app.cli.main", "run"]
    load = StepLoad(loads, 1)
    with running(unplanned_config(config), folder, command, dataset.bodies[0]) as service:
        _wait_for_workers(service)
        _say("the same step on the most accurate variant always")
        played = run_loop(send(service, dataset, load.rates(list(service.slo_ms)), load.duration_s, nothing))
    return played.answers


def _constant(service: Service, dataset: Dataset, total_qps: float, duration_s: float, action: Action) -> Played:
    rates = {name: RateSchedule.constant(qps) for name, qps in shared_out(total_qps, service).items()}
    return run_loop(send(service, dataset, rates, duration_s, action))


def _wait_for_workers(service: Service) -> None:
    """The service answers as soon as one worker is there."""
    end_s = time.monotonic() + WORKERS_WITHIN_S
    while missing := [n for n, pool in service.plan()["pools"].items() if pool["workers"] < pool["wanted"]]:
        if time.monotonic() > end_s:
            raise RuntimeError(f"pools {', '.join(missing)} are short of workers after {WORKERS_WITHIN_S:.0f} s")
        time.sleep(0.5)


def _say(words: str) -> None:
    Console(stderr=True).print(words, style="dim")


def _print(body: dict[str, Any]) -> None:
    console = Console()
    table = Table(title="Adaptation of a running service")
    for heading in ("figure", "measured", "goal"):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    for name, (unit, most) in GOALS.items():
        table.add_row(name, _cell(body[name], unit), f"<= {most:g} {unit}".strip())
    console.print(table)
    phases = Table(title="Violations and expected accuracy by phase of the load; most accurate variant always beside")
    for heading in ("phase", "queries/s", "violations %", "accuracy %", "violations % without planner"):
        phases.add_column(heading, justify="left" if heading == "phase" else "right")
    for phase, ours in body["step"]["phases"].items():
        theirs = body["baseline"]["phases"][phase]
        cells = (ours["rate_qps"], ours["violation_pct"], ours["accuracy_pct"], theirs["violation_pct"])
        phases.add_row(phase, *(_cell(value, "") for value in cells))
    console.print(phases)
    _print_rest(console, body)


def _print_rest(console: Console, body: dict[str, Any]) -> None:
    switch, rescale, status = body["switch"], body["rescale"], body["status"]
    sizes = ", ".join(f"{size} after {_cell(took_s, 's')}" for size, took_s in rescale["seconds_to_workers"].items())
    for line in (
        f"{switch['switches']} switches, objectives {_cells(switch['slo_ms'])} ms of {switch['endpoint']}.",
        f"Workers: {sizes}; {rescale['queries']} queries meanwhile.",
        f"Serve called it unhealthy for {status['status_unhealthy_s']:g} s, "
        f"deploying for {status['status_deploying_s']:g} s. {body['total_s']:.0f} s in all.",
    ):
        console.print(line)


def _cells(values: Sequence[float | None]) -> str:
    return " and ".join(_cell(value, "") for value in values)


def _cell(value: float | None, unit: str) -> str:
    return "none" if value is None else f"{value:.2f} {unit}".strip() if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
