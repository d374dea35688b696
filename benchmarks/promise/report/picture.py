"""Violations and accuracy over the load, a column per condition."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from benchmarks.promise.cases.case import Case
from benchmarks.promise.cases.figures import PROMISED_PCT

INK, GRID = "#333333", "#dddddd"
COLOURS = {
    "ramsis": "#c44e52",
    "greedy": "#4c78a8",
    "jellyfish_plus": "#55a868",
    "model_switching": "#8172b2",
    "fixed": "#8c8c8c",
}
MARKERS = {"ramsis": "o", "greedy": "s", "jellyfish_plus": "^", "model_switching": "v", "fixed": "x"}
LINEAR_TO_PCT = 1.0
"""Violations are drawn in proportion up to here, and by their logarithm beyond."""


def save_picture(path: Path, cases: Sequence[Case]) -> None:
    """One PNG of the figures that count, from five seconds after a change."""
    conditions = list(dict.fromkeys(case.condition for case in cases))
    policies = list(dict.fromkeys(case.policy for case in cases))
    figure = Figure(figsize=(2.6 * len(conditions) + 1.6, 5.6), layout="constrained")
    rows = figure.subplots(2, len(conditions), sharex=True, sharey="row", squeeze=False)
    for column, condition in enumerate(conditions):
        violations, accuracy = rows[0][column], rows[1][column]
        for policy in policies:
            own = sorted(
                (case for case in cases if (case.condition, case.policy) == (condition, policy)),
                key=lambda case: case.load_share,
            )
            loads_pct = [100.0 * case.load_share for case in own]
            style = {"color": COLOURS[policy], "marker": MARKERS[policy], "markersize": 5, "linewidth": 1.6}
            violated = [_or_nan(case.judged.violations_server_pct) for case in own]
            violations.plot(loads_pct, violated, label=policy, **style)
            accuracy.plot(loads_pct, [_or_nan(case.judged.variant_accuracy_pct) for case in own], **style)
        violations.set_title(condition.replace("_", " "), fontsize=10, color=INK)
        violations.axhline(PROMISED_PCT, color=INK, linewidth=0.8, linestyle=":")
        violations.set_yscale("symlog", linthresh=LINEAR_TO_PCT)
        violations.set_ylim(-0.1, 110.0)
        violations.set_yticks([0, 1, 10, 100])
        violations.yaxis.set_major_formatter(ScalarFormatter())
        for axes in (violations, accuracy):
            _plain(axes)
    rows[0][0].set_ylabel("violations by the server, %")
    rows[1][0].set_ylabel("accuracy of variants, %")
    figure.supxlabel("load, % of the highest that the machine bears at that time", fontsize=10, color=INK)
    handles, labels = rows[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=9)
    figure.savefig(path, dpi=120)


def _plain(axes: Axes) -> None:
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8)


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
