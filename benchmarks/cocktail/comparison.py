"""All systems, each at its own best setting."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from math import inf
from multiprocessing import get_context

from benchmarks.cocktail.figures import Figures, by_ask
from benchmarks.cocktail.member_sets import ours
from benchmarks.cocktail.models import MIXES
from benchmarks.cocktail.play import Outcome, play
from benchmarks.cocktail.scene import Inputs, Scene, scene_of
from benchmarks.cocktail.systems import CLIPPER, CLIPPER_X, COCKTAIL, INFAAS, INFAAS_ON_DEMAND, SYSTEMS, systems
from benchmarks.cocktail.tuning import Tuned, tune
from dispatch.ensemble.member import MemberSet

VIOLATIONS_PCT = 1.0
"""What every system may violate where costs are compared."""

TUNED_VIOLATIONS_PCT = 0.5
"""What it may violate in the hour that it is tuned on, so that it does not exceed the former in others."""

HALF = 0.5
"""Of InFaaS's median latency, that ours is tuned for in the strict mix beside the violations."""

Sets = Mapping[str, MemberSet]
"""Ours, by constraint."""

OnDone = Callable[[str], None]
"""Hears of every run, by what it was."""


@dataclass(frozen=True)
class Reported:
    """Of one system in one mix, by seed; ``by_ask`` are medians by constraint."""

    runs: Sequence[Figures]
    by_ask: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Comparison:
    """By mix and then by system; ``sets`` are ours by mix and constraint.

    InFaaS on on-demand machines is not tuned: it has the headroom that InFaaS has.
    """

    sets: Mapping[str, Sets]
    tuned: Mapping[str, Mapping[str, Tuned]]
    reported: Mapping[str, Mapping[str, Reported]]


ROWS = (*SYSTEMS, INFAAS_ON_DEMAND)


def compare(inputs: Inputs, seeds: int, processes: int, on_done: OnDone) -> Comparison:
    """Choose our sets, tune every system on one hour, play all on others."""
    scene = scene_of(inputs)
    sets = {mix: ours(mix, scene.validation(), scene.tuned(mix).pools) for mix in MIXES}
    on_done("sets of members")
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        tuned: dict[str, dict[str, Tuned]] = {mix: {} for mix in MIXES}
        for names in ((CLIPPER, CLIPPER_X, INFAAS), (COCKTAIL,)):
            asked = {
                (mix, name): pool.submit(_tune, inputs, sets[mix], mix, name, _limit_s(mix, name, tuned[mix]))
                for name in names
                for mix in MIXES
            }
            for (mix, name), future in asked.items():
                tuned[mix][name] = future.result()
                on_done(f"{name} tuned, {mix}")
        headrooms = {
            mix: {name: each.headroom for name, each in own.items()} | {INFAAS_ON_DEMAND: own[INFAAS].headroom}
            for mix, own in tuned.items()
        }
        runs: dict[tuple[str, str], list[Future[tuple[Figures, Outcome]]]] = {
            (mix, name): [
                pool.submit(_report, inputs, sets[mix], mix, name, headrooms[mix][name], seed) for seed in range(seeds)
            ]
            for mix in MIXES
            for name in ROWS
        }
        reported: dict[str, dict[str, Reported]] = {mix: {} for mix in MIXES}
        for (mix, name), futures in runs.items():
            done = []
            for each in futures:
                done.append(each.result())
                on_done(f"{name}, {mix}")
            reported[mix][name] = Reported([figures for figures, _ in done], by_ask([own for _, own in done]))
    return Comparison(sets, tuned, reported)


def steps(seeds: int) -> int:
    """How often `compare` says that something is done."""
    return 1 + len(MIXES) * (len(SYSTEMS) + len(ROWS) * seeds)


def _limit_s(mix: str, name: str, tuned: Mapping[str, Tuned]) -> float:
    """The median latency that a system is tuned for."""
    return HALF * tuned[INFAAS].figures.latency_p50_s if (mix, name) == ("strict", COCKTAIL) else inf


def _tune(inputs: Inputs, sets: Sets, mix: str, name: str, limit_s: float) -> Tuned:
    scene = scene_of(inputs)
    workload = scene.tuned(mix)
    forecaster = scene.forecaster(workload.part)
    system = systems(sets)[name]

    def run(headroom: float) -> Figures:
        return Figures.of(play(system, workload, scene.weights, forecaster, headroom))

    def keeps(figures: Figures) -> bool:
        return figures.violations_pct <= TUNED_VIOLATIONS_PCT and figures.latency_p50_s <= limit_s

    return tune(run, keeps)


def _report(inputs: Inputs, sets: Sets, mix: str, name: str, headroom: float, seed: int) -> tuple[Figures, Outcome]:
    scene: Scene = scene_of(inputs)
    workload = scene.reported(mix, seed)
    outcome = play(systems(sets)[name], workload, scene.weights, scene.forecaster(workload.part), headroom)
    return Figures.of(outcome), outcome
