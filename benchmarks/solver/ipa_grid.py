"""Decision times of IPA's program over stages x variants (figure 13 of the paper)."""

import statistics
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import track

from autoscaler.cluster.plan import Status
from autoscaler.planners.ipa.solver import solve
from benchmarks.solver.random_pipelines import KINDS, OPTIONS, Kind, random_case, slo_binds

SIZES = (2, 5, 10, 15, 20)
GOALS_S = {10: 0.1, 20: 1.0}
"""By stages and variants; the paper has under 2 s for 10 x 10, with a commercial solver."""


def decision_times(instances: int, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """By kind and size the seconds of `solve`, with its words, and whether all were proven optimal.

    ``max_cpu_s`` is processor time, which is less where something else runs on the same cores.
    """
    solve((random_case(0, 2, 2, "sequence")[0],), OPTIONS)  # the solver's library is loaded
    console = Console(stderr=True)
    found: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    cells = list(_cells(sizes))
    for kind, stages, variants in track(cells, "IPA", console=console, disable=not console.is_terminal):
        found[kind][f"{stages}x{variants}"] = _cell(kind, stages, variants, instances)
    goals = {}
    for size, limit_s in GOALS_S.items():
        if size in sizes:
            for name, of_kind in found.items():
                cell = of_kind[f"{size}x{size}"]
                met = cell["max_s"] < limit_s and cell["optimal"] == instances
                goals[f"{name}_{size}x{size}_all_under_{limit_s:g}_s_and_optimal"] = met
    return {"instances": instances, "grid": found, "goals": goals, "goals_met": all(goals.values())}


def _cells(sizes: tuple[int, ...]) -> Iterator[tuple[Kind, int, int]]:
    for kind in KINDS:
        for stages in sizes:
            for variants in sizes:
                yield kind, stages, variants


def _cell(kind: Kind, stages: int, variants: int, instances: int) -> dict[str, Any]:
    seconds, cpu_s, gaps, optimal, binds, overloaded = [], [], [], 0, 0, 0
    for seed in range(instances):
        problem, workers = random_case(seed, stages, variants, kind)
        begun_s, begun_cpu_s = time.perf_counter(), time.process_time()
        solution = solve((problem,), OPTIONS, workers)
        seconds.append(time.perf_counter() - begun_s)
        cpu_s.append(time.process_time() - begun_cpu_s)
        optimal += solution.status is Status.OPTIMAL
        gaps.append(solution.gap)
        own = solution.pipelines[problem.name]
        overloaded += own.served_qps < problem.load_qps * (1 - 1e-9)
        binds += slo_binds(problem, workers, solution.objective)
    return {
        "median_s": statistics.median(seconds),
        "max_s": max(seconds),
        "max_cpu_s": max(cpu_s),
        "optimal": optimal,
        "max_gap": None if any(gap is None for gap in gaps) else max(gap for gap in gaps if gap is not None),
        "slo_binds": binds,
        "overloaded": overloaded,
    }
