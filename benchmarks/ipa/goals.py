"""What is to be reached, and what was."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from benchmarks.ipa.comparison import Result
from benchmarks.ipa.systems import FA2_HIGH, FA2_LOW, IPA, RIM
from benchmarks.ipa.tuning import ACCURACY, BALANCED_NAME, RESOURCE, VIOLATIONS_PCT

MORE_ACCURATE = 35.0
"""Points of normalised accuracy above FA2-low, of which the least accurate variants have 0 and the best 100."""

COST_MORE_PCT = 5.0
VIOLATIONS_POINTS = 1.0
FEWER_VIOLATIONS = 5.0
MOST_FEWER = 1e6
CHANCE = 0.01
"""By so much of itself a figure may be smaller than the one before it and count as no smaller."""


@dataclass(frozen=True)
class Goal:
    """``reached`` is to be ``wanted`` at least, or at most; ``where`` says of what it is the best or the worst."""

    wanted: float
    reached: float
    met: bool
    where: str


def goals_of(results: Mapping[str, Result]) -> dict[str, Goal]:
    """All of them."""
    of_ipa = {
        f"{name}, {kind}": (own[IPA], own) for name, result in results.items() for kind, own in result.outcomes.items()
    }
    cheap = {
        where: ours.accuracy - own[FA2_LOW].accuracy
        for where, (ours, own) in of_ipa.items()
        if ours.cost_cores < (1.0 + COST_MORE_PCT / 100.0) * own[FA2_LOW].cost_cores
    }
    points, where = max(((value, key) for key, value in cheap.items()), default=(0.0, "nowhere for so little cost"))
    goals = {"accuracy_points_above_fa2_low": Goal(MORE_ACCURATE, points, points >= MORE_ACCURATE, where)}
    for system in (FA2_HIGH, RIM):
        ratios = {
            key: ours.cost_cores / own[system].cost_cores
            for key, (ours, own) in of_ipa.items()
            if own[system].violations_pct <= max(VIOLATIONS_PCT, ours.violations_pct)
        }
        ratio, where = max(((value, key) for key, value in ratios.items()), default=(MOST_FEWER, "nowhere"))
        short = [key for key in of_ipa if key not in ratios]
        where += f"; does not bear the load, and is not compared, in: {', '.join(short)}" if short else ""
        broken = [name for name, result in results.items() if _broken(result, system)]
        where += f"; with too many violations in tuning: {', '.join(broken)}" if broken else ""
        goals[f"cost_over_{system}"] = Goal(1.0, ratio, ratio <= 1.0 and not broken, where)
    worse, where = max((ours.violations_pct - own[FA2_LOW].violations_pct, key) for key, (ours, own) in of_ipa.items())
    goals["violation_points_above_fa2_low"] = Goal(VIOLATIONS_POINTS, worse, worse <= VIOLATIONS_POINTS, where)
    moved = {name: _moved(result) for name, result in results.items()}
    share = sum(moved.values()) / len(moved)
    still = ", ".join(name for name, own in moved.items() if not own) or "all pipelines"
    goals["weights_move_the_result_share"] = Goal(1.0, share, share >= 1.0, still)
    middle = median(_fewer(result) for result in results.values())
    goals["fewer_violations_than_reactive"] = Goal(
        FEWER_VIOLATIONS, middle, middle >= FEWER_VIOLATIONS, "the median of the pipelines, bursty, at equal cost"
    )
    return goals


def _fewer(result: Result) -> float:
    """Violations of the reactive planner over those of the predictive one; 1 where neither has any."""
    reactive, predictive = result.pair.reactive_at_equal_cost.violated, result.pair.predictive.violated
    return 1.0 if reactive == predictive else min(reactive / max(predictive, 1), MOST_FEWER)


def mean_gain(result: Result) -> tuple[float, float]:
    """Over the four excerpts: points of accuracy above FA2-low, and cost above it in percent."""
    pairs = [(own[IPA], own[FA2_LOW]) for own in result.outcomes.values()]
    points = sum(ours.accuracy - low.accuracy for ours, low in pairs) / len(pairs)
    ours_cost, low_cost = sum(ours.cost_cores for ours, _ in pairs), sum(low.cost_cores for _, low in pairs)
    return points, 100.0 * (ours_cost / low_cost - 1.0)


def _broken(result: Result, system: str) -> bool:
    """Whether the system, or IPA beside it, keeps its promise at no setting on the tuning excerpts, so that costs do
    not compare."""
    violations_pct = result.tuned.violations_pct
    return any(violations_pct[name] > VIOLATIONS_PCT for name in (system, IPA))


def _moved(result: Result) -> bool:
    """Whether putting accuracy first is more accurate, and dearer, than putting resources first, and the balance is
    neither more nor less than these (Figure 14)."""
    presets = (result.frontier[result.tuned.presets[name]] for name in (RESOURCE, BALANCED_NAME, ACCURACY))
    low, middle, high = ((each.accuracy, each.cost_cores) for each in presets)
    ordered = all(
        before * (1.0 - CHANCE) <= after
        for pair in ((low, middle), (middle, high))
        for before, after in zip(*pair, strict=True)
    )
    return ordered and low[0] < high[0] and low[1] < high[1]
