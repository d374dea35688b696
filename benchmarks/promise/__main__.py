"""Whether the promise holds on the machine at hand: the quickstart with real digits, by policy, condition and load.

``python -m benchmarks.promise --json``. Finds the highest load that any policy sustains with at most 1% violations by
the server's account, and puts each policy through shares of it: on the machine as it is, on one core (whose highest
load is another), beside a busy neighbour, with a worker that becomes slower in mid-run, and in bursts. The load
generator is a process of its own. ``GET /accord/status`` is asked twice a second, and what it says of the promise
compared with its own figures and with the answers. Accuracy and violations count from five seconds after a change.
Beside it: how long starts take, and what ``accord load`` reports at two loads.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.machine import loop_s
from benchmarks.promise.cases.bursts import made_up_excerpt, strongest_excerpt
from benchmarks.promise.cases.case import Case, over_rounds
from benchmarks.promise.cases.conditions import CONDITIONS, Cores
from benchmarks.promise.cases.play import Loads, play
from benchmarks.promise.cases.timeline import BEFORE_CHANGE_S
from benchmarks.promise.cases.windows import WindowCounts
from benchmarks.promise.machine import machine_figures
from benchmarks.promise.options import Options, parse
from benchmarks.promise.readme_table import measure_rows
from benchmarks.promise.report.goals import goals_of
from benchmarks.promise.report.picture import save_picture
from benchmarks.promise.report.tables import print_tables
from benchmarks.promise.search.bisection import START_QPS
from benchmarks.promise.search.highest import Highest, Say, find
from benchmarks.promise.starts.start import measure_starts
from benchmarks.promise.systems import System, fastest_variant
from benchmarks.recorded_load import read_recorded
from catalog.errors import AccordError
from serve_app.cli.drive import allow_open_files
from serve_app.loadgen.dataset import Dataset, load_dataset
from serve_app.loadgen.lag import LIMIT_MS

SEED = 1


def main() -> None:
    """Run and print."""
    options = parse(__doc__)
    begun_s = time.perf_counter()
    allow_open_files()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        try:
            body = _measure(options, bar)
        except AccordError as error:
            sys.exit(str(error))
    body["total_s"] = time.perf_counter() - begun_s
    if options.as_json:
        print(orjson.dumps(body).decode())
    else:
        print_tables(Console(), body)


def _measure(options: Options, bar: Progress) -> dict[str, Any]:
    def say(words: str) -> None:
        bar.console.print(words, style="dim", highlight=False)

    systems = [System.of(policy) for policy in options.policies]
    if "cases" in options.parts:
        with TemporaryDirectory() as folder:
            for system in systems:
                system.check(Path(folder))
    dataset = load_dataset("test", None)
    body: dict[str, Any] = {"machine": machine_figures(dataset)}
    if "cases" in options.parts:
        body |= _cases(options, systems, dataset, bar)
    if "starts" in options.parts:
        body["starts"] = {name: asdict(start) for name, start in measure_starts(say).items()}
    if "table" in options.parts:
        body["table"] = [asdict(row) for row in measure_rows(dataset, say)]
    return body


def _cases(options: Options, systems: Sequence[System], dataset: Dataset, bar: Progress) -> dict[str, Any]:
    def say(words: str) -> None:
        bar.console.print(words, style="dim", highlight=False)

    def on_case(case: Case) -> None:
        bar.advance(task)
        say(_in_brief(case))

    burst_s = int(BEFORE_CHANGE_S + options.seconds)
    burst = made_up_excerpt(burst_s, SEED)
    if options.series is not None:
        burst = strongest_excerpt(read_recorded(options.series)[0], burst_s)
    highest = _highest(options, systems, dataset, say)
    rounds: dict[tuple[str, str, float], list[Case]] = {}
    windows = {system.name: dict.fromkeys(options.conditions, WindowCounts()) for system in systems}
    total = options.rounds * len(options.conditions) * len(systems) * len(options.shares)
    task = bar.add_task("cases", total=total)
    for _ in range(options.rounds):
        for condition in options.conditions:
            for system in systems:
                bar.update(task, description=f"{condition}, {system.name}")
                cores = Cores.of(CONDITIONS[condition])
                loads = Loads(highest[cores], options.shares, options.seconds, burst, SEED)
                played = play(system, CONDITIONS[condition], loads, dataset, on_case)
                windows[system.name][condition] += played.windows
                for case in played.cases:
                    rounds.setdefault(case.key, []).append(case)
    cases = [over_rounds(each) for each in rounds.values()]
    if options.picture is not None:
        save_picture(options.picture, cases)
    return {"highest": {cores.value: asdict(each) for cores, each in highest.items()}} | _judged(cases, windows)


def _highest(options: Options, systems: Sequence[System], dataset: Dataset, say: Say) -> dict[Cores, Highest]:
    """The loads that cases are shares of, for every set of cores that some condition leaves: given, or searched for."""
    rivals = [*systems, System.of_variant("fixed to the fastest", fastest_variant())]
    found: dict[Cores, Highest] = {}
    for cores in dict.fromkeys(Cores.of(CONDITIONS[name]) for name in options.conditions):
        given_qps = options.highest_qps.get(cores)
        if given_qps is not None:
            found[cores] = Highest(given_qps, None, 0, loop_s())
            continue
        with cores.used():
            say(f"The highest load, {cores.value.replace('_', ' ')}:")
            found[cores] = find(rivals, dataset, say, SEED, START_QPS if cores is Cores.ALL else START_QPS / 2.0)
    return found


def _judged(cases: Sequence[Case], windows: Mapping[str, Mapping[str, WindowCounts]]) -> dict[str, Any]:
    by_policy = {policy: sum(counts.values(), WindowCounts()) for policy, counts in windows.items()}
    goals = goals_of(cases, by_policy)
    return {
        "goals_met": all(goal.met for goal in goals.values()),
        "goals": {name: asdict(goal) for name, goal in goals.items()},
        "generator_fell_behind": [case.key for case in cases if case.generator_lag_p99_ms > LIMIT_MS],
        "cases": [asdict(case) for case in cases],
        "windows": {
            policy: {condition: vars(each) for condition, each in counts.items()} for policy, counts in windows.items()
        },
    }


def _in_brief(case: Case) -> str:
    seen = case.judged
    return (
        f"{case.condition}, {case.policy}, {case.load_qps:.0f}/s: {seen.violations_server_pct or 0.0:.2f}% violated "
        f"({seen.violations_client_pct or 0.0:.2f}% by the client), accuracy {seen.variant_accuracy_pct or 0.0:.2f}%, "
        f"machine {case.machine_speed:.2f}x"
    )


if __name__ == "__main__":
    main()
