"""All that is played: systems on excerpts, weights along the frontier, plans from forecasts and without."""

import multiprocessing
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace

from benchmarks.ipa.demand import Scene
from benchmarks.ipa.excerpts import Kind
from benchmarks.ipa.pipelines import Pipeline
from benchmarks.ipa.simulation import Outcome, simulate
from benchmarks.ipa.systems import IPA, SYSTEMS, Planned, Setting
from benchmarks.ipa.tuning import RESOURCE, Tuned, tune

Scenes = Mapping[Kind, Scene]
OnDone = Callable[[str], None]

FRONTIER_ALPHAS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Beside the presets."""

EQUAL_COST = 0.02
"""Of the headrooms with which the reactive planner costs no more than the predictive one, but for this share, it has
the one with the fewest violations: replicas come in whole numbers, and a little more cost can be many fewer violations.
Where it costs more with all of them, since its plans change more often, it has the predictive one's."""

RUNS = 3
"""With other arrivals within each second, and other latencies; what is reported is of all of them."""

HALVINGS = 6
LEAST_HEADROOM, MOST_HEADROOM = 0.5, 3.0

JOBS = 3
"""Tuning, the rest and the frontier of each pipeline."""


@dataclass(frozen=True, eq=False)
class Pair:
    """On the bursty excerpt: plans from forecasts, from the load of the last 10 s, and from that at the same cost.

    All with the weights that put resources first: with others a lower demand buys accuracy, and cost says little of
    how much load is planned for.
    """

    predictive: Outcome
    reactive: Outcome
    reactive_at_equal_cost: Outcome
    headroom: float
    reactive_headroom: float


@dataclass(frozen=True, eq=False)
class Result:
    """Of one pipeline: outcomes by excerpt and system, by alpha on the bursty excerpt, and of predictions."""

    tuned: Tuned
    outcomes: Mapping[Kind, Mapping[str, Outcome]]
    frontier: Mapping[float, Outcome]
    pair: Pair


def compare(
    pipelines: Mapping[str, Pipeline], tuned_on: Scenes, reported: Scenes, seed: int, processes: int, on_done: OnDone
) -> dict[str, Result]:
    """Every pipeline; ``on_done`` hears of the ``JOBS`` steps of each."""
    results: dict[str, Result] = {}
    heavy_first = sorted(pipelines, key=lambda name: -len(pipelines[name].stages))
    if processes == 1:
        for name in heavy_first:
            results[name] = _of(pipelines[name], tuned_on, reported, seed, on_done)
    else:
        os.environ["OMP_NUM_THREADS"] = "1"  # for the processes: each has one core
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
            futures: dict[Future[Result], str] = {
                pool.submit(_of, pipelines[name], tuned_on, reported, seed): name for name in heavy_first
            }
            for future in as_completed(futures):
                results[futures[future]] = future.result()
                for _ in range(JOBS):
                    on_done(futures[future])
    return {name: results[name] for name in pipelines}


def _silent(what: str) -> None:
    """Does not report progress."""


def _of(pipeline: Pipeline, tuned_on: Scenes, reported: Scenes, seed: int, on_done: OnDone = _silent) -> Result:
    tuned = tune(pipeline, tuned_on, seed)
    on_done(f"{pipeline.name}: tuned")
    outcomes = {
        kind: {system: _pooled(pipeline, tuned.settings[system], scene, seed) for system in SYSTEMS}
        for kind, scene in reported.items()
    }
    pair = _pair(pipeline, replace(tuned.settings[IPA], alpha=tuned.presets[RESOURCE]), reported["bursty"], seed)
    on_done(f"{pipeline.name}: played")
    alphas = sorted({*FRONTIER_ALPHAS, *tuned.presets.values()})
    frontier = {
        alpha: simulate(pipeline, replace(tuned.settings[IPA], alpha=alpha), reported["bursty"], seed)
        for alpha in alphas
    }
    on_done(f"{pipeline.name}: frontier")
    return Result(tuned, outcomes, frontier, pair)


def _pooled(pipeline: Pipeline, setting: Setting, scene: Scene, seed: int, *, predictive: bool = True) -> Outcome:
    """Over `RUNS` runs with other luck."""
    planned = Planned(pipeline, setting)
    return Outcome.pooled(
        [
            simulate(pipeline, setting, scene, seed + number, predictive=predictive, planned=planned)
            for number in range(RUNS)
        ]
    )


def _pair(pipeline: Pipeline, setting: Setting, scene: Scene, seed: int) -> Pair:
    predictive = _pooled(pipeline, setting, scene, seed)
    reactive = _pooled(pipeline, setting, scene, seed, predictive=False)
    most_cores = predictive.cost_cores * (1.0 + EQUAL_COST)
    tried = {setting.headroom: reactive}
    low, high = LEAST_HEADROOM, MOST_HEADROOM
    headroom = setting.headroom
    for _ in range(HALVINGS):
        if tried[headroom].cost_cores <= most_cores:
            low = headroom
        else:
            high = headroom
        headroom = (low + high) / 2.0
        tried[headroom] = _pooled(pipeline, replace(setting, headroom=headroom), scene, seed, predictive=False)
    cheap = {each: own for each, own in tried.items() if own.cost_cores <= most_cores}
    best = min(cheap, key=lambda each: cheap[each].violated) if cheap else setting.headroom
    return Pair(predictive, reactive, tried[best], setting.headroom, best)
