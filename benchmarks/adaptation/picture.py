"""The step as a picture: load, violations and accuracy over time, with marks where plans came into force."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.adaptation.answers import Answers
from benchmarks.adaptation.plan_times import Decision, epoch_s, made_true
from benchmarks.adaptation.recovery import MOST_VIOLATED_PCT, WINDOW_S
from benchmarks.adaptation.step import StepLoad
from benchmarks.adaptation.traffic import Played

INK, GRID, LOAD, LINE, BAD, PLAN = "#333333", "#dddddd", "#4c78a8", "#111111", "#c44e52", "#8c6bb1"


def save_picture(
    path: Path, load: StepLoad, played: Played, decisions: Sequence[Decision], baseline: Answers | None
) -> None:
    """One PNG. ``baseline`` are the answers of the same load without a planner, as far as it was played there."""
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    rates, violations, accuracy = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1.2, 1.2))
    windows = played.answers.windows(0.0, load.duration_s, WINDOW_S)
    edges_s = np.arange(len(windows) + 1) * WINDOW_S
    marks_s = [epoch_s(each["in_force_at"]) - played.began_at_s for each in made_true(decisions)]
    for axes in (rates, violations, accuracy):
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
        for number, mark_s in enumerate(each for each in marks_s if 0 <= each <= load.duration_s):
            label = "a plan comes into force" if axes is rates and not number else None
            axes.axvline(mark_s, color=PLAN, linewidth=1, linestyle=(0, (3, 2)), label=label)

    rates.stairs([len(each) / WINDOW_S for each in windows], edges_s, color=LOAD, fill=True, alpha=0.35, label="load")
    rates.set_ylabel("queries/s")
    rates.set_ylim(bottom=0)
    _legend(rates)
    violations.stairs(
        [each.violation_pct or 0.0 for each in windows], edges_s, color=BAD, fill=True, alpha=0.8, label="planned"
    )
    if baseline is not None:
        theirs = baseline.windows(0.0, load.duration_s, WINDOW_S)
        seen = [np.nan if each.violation_pct is None else each.violation_pct for each in theirs]
        violations.stairs(seen, edges_s, color=INK, baseline=None, linewidth=1.2, label="most accurate variant always")
    violations.axhline(MOST_VIOLATED_PCT, color=INK, linewidth=0.8, linestyle=":")
    violations.set_ylabel("violations, %")
    violations.set_ylim(bottom=0)
    _legend(violations)
    seen = [np.nan if each.accuracy_pct is None else each.accuracy_pct for each in windows]
    accuracy.stairs(seen, edges_s, color=LINE, baseline=None, linewidth=2)
    accuracy.set_ylabel("expected accuracy, %")
    accuracy.set_xlabel("time, s")
    accuracy.set_xlim(0, load.duration_s)
    figure.align_ylabels((rates, violations, accuracy))
    words = (
        f"{load.loads.base_qps:.0f} to {load.loads.step_qps:.0f} queries/s and back, {len(played.answers):,} queries"
    )
    figure.suptitle(words, x=0.01, ha="left", fontsize=11, color=INK)
    figure.savefig(path, dpi=120)


def _legend(axes: Axes) -> None:
    """Above the axes, in one line."""
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=3, frameon=False, fontsize=8)
