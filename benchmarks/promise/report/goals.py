"""What the benchmark asks of the flagship policy and of the status, and whether it got it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.promise.cases.case import Case
from benchmarks.promise.cases.windows import WindowCounts

FLAGSHIP, PEER = "ramsis", "greedy"

MOST_BELOW_PCT, BELOW_SHARE = 1.0, 0.85
"""Violations by the server's account that are allowed up to this share of the highest load."""

MOST_ABOVE_PCT = 3.0
"""Those that are allowed beyond it."""

ROUNDING_POINTS = 0.05
"""Accuracies that differ by no more than this count as the same."""

ALIKE = 1.1
"""Accuracies are compared at loads that differ by no more than this factor: the machine was as fast for both."""

BETTER_POINTS, BETTER_SHARE = 0.3, 0.5
AGREE_SHARE, RIGHT_SHARE = 0.99, 0.95

DECIDED_SHARE = 0.5
"""A service that says of fewer windows than this, for any policy, whether it keeps its promise, does not judge it."""


@dataclass(frozen=True)
class Goal:
    """``value`` is None where nothing was measured, which does not meet it. ``beside`` explains the value."""

    value: float | None
    goal: float
    met: bool
    beside: Mapping[str, Any]


def goals_of(cases: Sequence[Case], windows: Mapping[str, WindowCounts]) -> dict[str, Goal]:
    """``windows`` are by policy, over all conditions."""
    ours = [case for case in cases if case.policy == FLAGSHIP]
    low = [case for case in ours if case.load_share <= BELOW_SHARE + 1e-9]
    high = [case for case in ours if case.load_share > BELOW_SHARE + 1e-9]
    gains = accuracy_gains(cases)
    better = sum(gain >= BETTER_POINTS for gain in gains.values())
    all_windows = sum(windows.values(), WindowCounts())
    agree = all_windows.agree_share
    decided = {policy: counts.decided_share or 0.0 for policy, counts in windows.items()}
    ours_said = windows.get(FLAGSHIP, WindowCounts())
    right = ours_said.bounds_right_share
    points = {_label(key): gain for key, gain in gains.items()}
    compared = {"better": better, "cases": len(gains), "of": len(ours)}
    return {
        "violations_up_to_85_pct": _violations(low, MOST_BELOW_PCT, cases),
        "violations_beyond_85_pct": _violations(high, MOST_ABOVE_PCT, cases),
        "accuracy_over_greedy_points": _at_least(min(gains.values(), default=None), -ROUNDING_POINTS, points),
        "share_better_by_0_3_points": _at_least(better / len(gains) if gains else None, BETTER_SHARE, compared),
        "kept_agrees_share": Goal(
            agree,
            AGREE_SHARE,
            agree is not None and agree >= AGREE_SHARE and min(decided.values()) >= DECIDED_SHARE,
            {**vars(all_windows), "decided_share": decided},
        ),
        "bounds_right_share": _at_least(right, RIGHT_SHARE, vars(ours_said)),
    }


def accuracy_gains(cases: Sequence[Case]) -> dict[tuple[str, float], float]:
    """By condition and share of the highest load, wherever the peer keeps its promise: points of accuracy beyond it.

    Of the mean measured accuracies of the variants that answered, so that the labels drawn do not matter. Cases whose
    loads differ, since the machine became faster or slower between them, say nothing of the policies and are left out.
    """
    peers = {(case.condition, case.load_share): case for case in cases if case.policy == PEER}
    gains = {}
    for case in cases:
        peer = peers.get((case.condition, case.load_share))
        if case.policy != FLAGSHIP or peer is None or not peer.judged.kept:
            continue
        if not 1.0 / ALIKE <= case.load_qps / peer.load_qps <= ALIKE:
            continue
        own_pct, their_pct = case.judged.variant_accuracy_pct, peer.judged.variant_accuracy_pct
        if own_pct is not None and their_pct is not None:
            gains[case.condition, case.load_share] = own_pct - their_pct
    return gains


def _violations(ours: Sequence[Case], most_pct: float, cases: Sequence[Case]) -> Goal:
    """The worst of our cases; beside it those above the goal, and which of them no other policy does better in."""
    by_case = {(case.condition, case.load_share): case.judged.violations_server_pct for case in ours}
    speeds = {(case.condition, case.load_share): case.machine_speed for case in ours}
    values = [value for value in by_case.values() if value is not None]
    above = {key: value for key, value in by_case.items() if value is None or value > most_pct}
    nobody = [
        _label(key)
        for key in above
        if not any(
            (case.condition, case.load_share) == key
            and case.judged.violations_server_pct is not None
            and case.judged.violations_server_pct <= most_pct
            for case in cases
        )
    ]
    beside = {
        "above": {_label(key): {"pct": value, "machine_speed": speeds[key]} for key, value in above.items()},
        "no_policy_meets_it": nobody,
    }
    return Goal(max(values, default=None), most_pct, bool(by_case) and not above, beside)


def _at_least(value: float | None, goal: float, beside: Mapping[str, Any]) -> Goal:
    return Goal(value, goal, value is not None and value >= goal, beside)


def _label(key: tuple[str, float]) -> str:
    return f"{key[0]} at {100.0 * key[1]:g}%"
