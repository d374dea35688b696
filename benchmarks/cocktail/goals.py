"""What the paper promises, and whether it holds."""

from dataclasses import dataclass

from benchmarks.cocktail.comparison import VIOLATIONS_PCT, Comparison
from benchmarks.cocktail.figures import medians, ratios
from benchmarks.cocktail.systems import CLIPPER, CLIPPER_X, COCKTAIL, INFAAS

CHEAPER = {INFAAS: 1.45, CLIPPER: 1.35, CLIPPER_X: 1.27}
"""Than which system, and how many times, on the strict mix (section 6.1)."""

MET_PCT = 96.0
"""Of the relaxed requests (Table 6)."""

FASTER = 2.0
"""Than InFaaS in the median, on the strict mix (section 1)."""


@dataclass(frozen=True)
class Goal:
    """What is to be reached at least, and what was; violations at most.

    A comparison with a system that keeps its promise at no headroom on the hour that it is tuned on is not met: it is
    played at the dearest setting then.
    """

    wanted: float
    reached: float
    met: bool


def goals_of(comparison: Comparison) -> dict[str, Goal]:
    """All of them, as medians over seeds."""
    strict = {name: reported.runs for name, reported in comparison.reported["strict"].items()}
    kept = {name for name, tuned in comparison.tuned["strict"].items() if tuned.kept}
    relaxed = comparison.reported["relaxed"][COCKTAIL].runs
    found = {
        f"times_cheaper_than_{name}": _least(
            wanted, ratios(strict[COCKTAIL], strict[name])["times_as_dear"], kept >= {COCKTAIL, name}
        )
        for name, wanted in CHEAPER.items()
    }
    found["relaxed_requests_met_pct"] = _least(MET_PCT, medians(relaxed)["met_pct"])
    found["times_faster_than_infaas"] = _least(FASTER, ratios(strict[COCKTAIL], strict[INFAAS])["times_as_slow"])
    most = medians(strict[COCKTAIL])["violations_pct"]
    found["violations_pct"] = Goal(VIOLATIONS_PCT, most, most <= VIOLATIONS_PCT)
    return found


def _least(wanted: float, reached: float, comparable: bool = True) -> Goal:
    return Goal(wanted, reached, comparable and reached >= wanted)
