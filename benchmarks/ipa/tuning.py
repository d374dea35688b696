"""The knobs of every system, set on excerpts from before those that are reported."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from benchmarks.ipa.demand import Scene
from benchmarks.ipa.excerpts import MEAN_S, PEAK_QPS, Kind
from benchmarks.ipa.pipelines import Pipeline
from benchmarks.ipa.simulation import simulate
from benchmarks.ipa.systems import FA2_HIGH, FA2_LOW, IPA, LITERAL, LOKI, RIM, SYSTEMS, Planned, Setting
from catalog.errors import ConfigError

VIOLATIONS_PCT = 1.0
"""A system is to violate no more than this share of the queries of all tuning excerpts, and then to cost the least."""

LOWEST, HIGHEST, HALVINGS = 1.0, 1.5, 4
"""Of headrooms: the least that keeps the promise is found to 1/32. Below 1 a plan would not bear a load that stays."""

MOST_REPLICAS = 64

ALPHAS = (0.01, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)
"""Cores that a rank from 0 to 1 of a stage is worth, where beta is 1."""

BALANCED = 1.04
"""The balanced weights are the greatest alpha with which planned costs are at most so many times FA2-low's."""

RESERVE = 1.25
"""Loki's cluster, which stays as it is all the time, is so many times what tuning says: the load may come to be higher
than it was. RIM's replicas are the least that keep the promise, since costs are compared with its."""

Presets = Mapping[str, float]
"""alpha by name."""

RESOURCE, BALANCED_NAME, ACCURACY = "resource_prioritised", "balanced", "accuracy_prioritised"


@dataclass(frozen=True)
class Tuned:
    """The systems with their knobs, the ``violations_pct`` of each on the tuning excerpts, and IPA's ``presets``."""

    settings: Mapping[str, Setting]
    violations_pct: Mapping[str, float]
    presets: Presets


def tune(pipeline: Pipeline, scenes: Mapping[Kind, Scene], seed: int) -> Tuned:
    """All systems, each by the same rule for its headroom; IPA's, both of them, is no less than that of FA2-low.

    Raises `ConfigError` where the excerpts have no query at all.
    """
    if not any(scene.excerpt.played.any() for scene in scenes.values()):
        starts = ", ".join(f"{scene.excerpt.start_s} s" for scene in scenes.values())
        raise ConfigError(
            f"the excerpts that settings are tuned on, from {starts} of the series on, have no query: scaled so that "
            f"its highest mean over {MEAN_S} s is no more than {PEAK_QPS:g}/s, the series has next to nothing there; "
            "give one whose load differs less"
        )
    known: dict[Setting, float] = {}

    def violations_pct(setting: Setting) -> float:
        if setting not in known:
            known[setting] = _violations_pct(pipeline, setting, scenes, seed)
        return known[setting]

    settings: dict[str, Setting] = {}
    settings[FA2_LOW] = least_headroom(Setting(FA2_LOW), violations_pct)
    headroom = settings[FA2_LOW].headroom
    presets = _presets(pipeline, scenes, headroom)
    for system in (IPA, LITERAL):
        own = least_headroom(Setting(system, alpha=presets[BALANCED_NAME]), violations_pct)
        settings[system] = replace(own, headroom=max(own.headroom, headroom))
    settings[FA2_HIGH] = least_headroom(Setting(FA2_HIGH), violations_pct)
    ours = Planned(pipeline, settings[IPA])
    most = max(ours.plan(load_qps).cost for scene in scenes.values() for load_qps in scene.loads_qps())
    settings[LOKI] = least_headroom(Setting(LOKI, cost_limit=RESERVE * most), violations_pct)
    settings[RIM] = least_replicas(Setting(RIM, headroom=settings[IPA].headroom), violations_pct)
    ordered = {name: settings[name] for name in SYSTEMS}
    return Tuned(ordered, {name: violations_pct(each) for name, each in ordered.items()}, presets)


def least_headroom(setting: Setting, violations_pct: Callable[[Setting], float]) -> Setting:
    """By halving, the least that keeps `VIOLATIONS_PCT`; the highest where none does."""
    low, high = LOWEST, HIGHEST
    if violations_pct(replace(setting, headroom=low)) <= VIOLATIONS_PCT:
        return replace(setting, headroom=low)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if violations_pct(replace(setting, headroom=middle)) <= VIOLATIONS_PCT:
            high = middle
        else:
            low = middle
    return replace(setting, headroom=high)


def least_replicas(setting: Setting, violations_pct: Callable[[Setting], float]) -> Setting:
    """RIM's: by halving, the least that keeps `VIOLATIONS_PCT`."""
    low, high = 0, MOST_REPLICAS
    while high - low > 1:
        middle = (low + high) // 2
        if violations_pct(replace(setting, replicas=middle)) <= VIOLATIONS_PCT:
            high = middle
        else:
            low = middle
    return replace(setting, replicas=high)


def _violations_pct(pipeline: Pipeline, setting: Setting, scenes: Mapping[Kind, Scene], seed: int) -> float:
    """Of the queries of all excerpts; the busiest are played first, and no more when these are too many already."""
    planned = Planned(pipeline, setting)
    queries = sum(int(scene.excerpt.played.sum()) for scene in scenes.values())
    violated = 0
    for scene in sorted(scenes.values(), key=lambda each: -each.excerpt.mean_qps):
        violated += simulate(pipeline, setting, scene, seed, planned=planned).violated
        if violated > 2 * VIOLATIONS_PCT / 100.0 * queries:
            break
    return 100.0 * violated / queries


def _presets(pipeline: Pipeline, scenes: Mapping[Kind, Scene], headroom: float) -> Presets:
    """From what is planned for the tuning excerpts alone: nothing is played for it.

    *Balanced* is the greatest alpha whose costs stay within `BALANCED` of FA2-low's, *resource prioritised* the least
    of all, and *accuracy prioritised* the least with which three quarters of the highest accuracy are planned.
    """
    loads = [load_qps for scene in scenes.values() for load_qps in scene.loads_qps()]

    def means(setting: Setting) -> tuple[float, float]:
        planned = Planned(pipeline, setting)
        plans = [planned.plan(load_qps) for load_qps in loads]
        return fmean(plan.cost for plan in plans), fmean(plan.accuracy for plan in plans)

    lowest, _ = means(Setting(FA2_LOW, headroom))
    figures = {alpha: means(Setting(IPA, headroom, alpha=alpha)) for alpha in ALPHAS}
    within = [alpha for alpha, (cost, _) in figures.items() if cost <= BALANCED * lowest]
    accurate = [alpha for alpha, (_, score) in figures.items() if score >= 0.75 * len(pipeline.stages)]
    return {
        RESOURCE: ALPHAS[0],
        BALANCED_NAME: max(within, default=ALPHAS[0]),
        ACCURACY: min(accurate, default=ALPHAS[-1]),
    }
