"""Accuracy over violations: the frontier of the user's rules, and Accord."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.live_value.figures import ACCORD, BORNE_PCT, Figures, Medians

OURS, THEIRS, GRID = "#111111", "#4c78a8", "#dddddd"


def save_picture(medians: Mapping[str, Medians], rounds: Mapping[str, Sequence[Figures]], path: Path) -> None:
    """Large marks are medians, small ones single rounds."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xscale("symlog", linthresh=0.1)
    for name, middle in medians.items():
        color = OURS if name == ACCORD else THEIRS
        single = [each for each in rounds[name] if each.accuracy_pct is not None]
        accuracies = [each.accuracy_pct for each in single if each.accuracy_pct is not None]
        axes.scatter([each.violation_pct for each in single], accuracies, 8, color, alpha=0.5)
        axes.scatter(middle.violation_pct, middle.accuracy_pct, 40, color)
        where = (middle.violation_pct, middle.accuracy_pct)
        axes.annotate(name, where, xytext=(4, 4), textcoords="offset points", fontsize=7, color=color)
    axes.axvline(BORNE_PCT, color=GRID, linewidth=1.2)
    axes.set_xlabel("violations by the client's clock, %")
    axes.set_ylabel("accuracy of queries in time, by label, %")
    figure.savefig(path, dpi=120)
