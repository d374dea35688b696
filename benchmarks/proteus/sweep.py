"""Every system with every headroom under every seed, in several processes."""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from autoscaler.cluster.plan import ClusterPlan
from benchmarks.proteus.play import Played, play
from benchmarks.proteus.seeds import shuffled
from benchmarks.proteus.systems import SWEPT, SYSTEMS, TUNED, Study
from simulator.metrics import Metrics

HEADROOMS = (1.0, 1.1, 1.25, 1.5, 2.0)


class Case(NamedTuple):
    """A system that plans for ``headroom`` times the load, on the trace as seed 0 or another one makes it."""

    system: str
    headroom: float
    seed: int


@dataclass(frozen=True)
class Figures:
    """What came out of one case; ``seconds`` is how long it took to play."""

    metrics: Metrics
    plans: int
    largest_shed: float
    variants_loaded: int
    median_solve_s: float
    max_solve_s: float
    seconds: float
    played: Played | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """One case; can be sent to another process. ``keeps_record`` brings back what was played, too."""

    case: Case
    study: Study
    arrivals_s: Mapping[str, NDArray[np.float64]]
    load_s: float
    make_before_break: bool
    keeps_record: bool = False

    def __call__(self) -> Figures:
        """Play it."""
        begun_s = time.perf_counter()
        played = play(
            self.study.system(self.case.system, self.case.headroom),
            self.study.testbed,
            shuffled(self.arrivals_s, self.case.seed),
            self.load_s,
            make_before_break=self.make_before_break,
        )
        solved_s = [change.plan.report.solve_s for change in played.changes]
        return Figures(
            Metrics.of(played.record),
            len(played.changes) - 1,
            max(change.plan.shed for change in played.changes if isinstance(change.plan, ClusterPlan)),
            sum(len(change.loading) for change in played.changes),
            median(solved_s),
            max(solved_s),
            time.perf_counter() - begun_s,
            played if self.keeps_record else None,
        )


Runs = Mapping[Case, Figures]


def tuning(headrooms: Sequence[float]) -> list[Case]:
    """What is played to choose headrooms by, on another trace than the one that is reported."""
    return [Case(name, headroom, 0) for name in TUNED for headroom in headrooms]


def reported(headrooms: Sequence[float], chosen: Mapping[str, float], seeds: int) -> list[Case]:
    """What is played for the report: `SWEPT` systems with all headrooms, and all systems with the ``chosen`` one.

    The trace is played as recorded for all of them, with other seeds for the chosen headrooms alone.
    """
    swept = {name: {chosen[name], *(headrooms if name in SWEPT else ())} for name in SYSTEMS}
    recorded = [Case(name, headroom, 0) for name, of in swept.items() for headroom in sorted(of)]
    return recorded + [Case(name, chosen[name], seed) for name in SYSTEMS for seed in range(1, seeds)]


def best_headrooms(runs: Runs) -> dict[str, float]:
    """By system the headroom with the least sum of violations, in percent, and largest drop of accuracy, in points."""
    best: dict[str, tuple[float, float]] = {}
    for case, figures in runs.items():
        cost = cost_of(figures.metrics)
        if case.system not in best or (cost, case.headroom) < best[case.system]:
            best[case.system] = (cost, case.headroom)
    return {name: headroom for name, (_, headroom) in best.items()}


def cost_of(metrics: Metrics) -> float:
    """Percent of violations and points of drop in sum; a system that answers nothing drops all."""
    drop = 100.0 if metrics.max_accuracy_drop_pct is None else metrics.max_accuracy_drop_pct
    return 100.0 * metrics.slo_violation_ratio + drop


def run_all(name: str, cases: Iterable[Case], make: Callable[[Case], Run], executor: Executor) -> dict[Case, Figures]:
    """The figures by case, behind a progress bar on stderr, or a line for each where that is no terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        futures = {executor.submit(make(case)): case for case in cases}
        bar = progress.add_task(name, total=len(futures))
        found = {}
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            progress.advance(bar)
            if not console.is_terminal:
                print(f"{name}: {len(found)} of {len(futures)}", file=sys.stderr, flush=True)
    return {case: found[case] for case in futures.values()}
