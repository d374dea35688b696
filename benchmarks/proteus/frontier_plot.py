"""What systems lose in accuracy against what they violate, at every headroom."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.proteus.systems import SWEPT
from simulator.reporting.comparison_plot import COLOURS
from simulator.reporting.plot import GRID, INK

LEAST_PCT = 0.01
"""Fewer violations, in percent, are drawn as so many: the axis is logarithmic."""


def save_frontier(path: Path, title: str, systems: Mapping[str, Mapping[str, Any]]) -> None:
    """A PNG with the largest drop of accuracy over violations: a line per swept system, its row as a large mark.

    Bars are the least and the greatest of the seeds; systems with one headroom are marks alone.
    """
    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots()
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    for number, (name, row) in enumerate(systems.items()):
        _draw(axes, name, row, COLOURS[number % len(COLOURS)])
    axes.set_xscale("log")
    axes.set_xlabel("late or unanswered, % of queries")
    axes.set_ylabel("largest drop of effective accuracy, points")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)
    axes.set_title(title, loc="left", fontsize=11)
    figure.savefig(path, dpi=120)


def _draw(axes: Axes, name: str, row: Mapping[str, Any], colour: str) -> None:
    points = [
        (_percent(of["slo_violation_ratio"]), of["max_accuracy_drop_pct"])
        for of in row["frontier"]
        if of["max_accuracy_drop_pct"] is not None
    ]
    if name in SWEPT and points:
        axes.plot(*zip(*points, strict=True), "-o", color=colour, markersize=3, linewidth=1.0)
    drop = row["max_accuracy_drop_pct"]
    if drop is None:
        return
    violated, spread = _percent(row["slo_violation_ratio"]), row["spread"]
    least, most = map(_percent, spread["slo_violation_ratio"])
    lowest, highest = spread["max_accuracy_drop_pct"]
    axes.errorbar(
        [violated],
        [drop],
        xerr=[[max(violated - least, 0.0)], [max(most - violated, 0.0)]],
        yerr=[[max(drop - lowest, 0.0)], [max(highest - drop, 0.0)]],
        fmt="*" if name == "proteus" else "D" if name in SWEPT else "x",
        markersize=12 if name == "proteus" else 6,
        color=colour,
        label=name,
    )


def _percent(ratio: float) -> float:
    return max(100.0 * ratio, LEAST_PCT)
