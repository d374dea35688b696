"""Frontiers of cost against violations, and where each system is compared."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.cocktail.comparison import VIOLATIONS_PCT, Comparison
from benchmarks.cocktail.figures import medians
from benchmarks.cocktail.tuning import Tuned
from simulator.reporting.comparison_plot import COLOURS
from simulator.reporting.plot import GRID, INK

LEAST_PCT = 1e-2
"""Fewer violations are drawn as so many, on a logarithmic axis."""


def save_picture(path: Path, comparison: Comparison) -> None:
    """A PNG with one panel per mix."""
    figure = Figure(figsize=(12, 5.2), layout="constrained")
    panels = figure.subplots(1, len(comparison.tuned), squeeze=False)[0]
    for axes, (mix, tuned) in zip(panels, comparison.tuned.items(), strict=True):
        for number, (name, own) in enumerate(tuned.items()):
            reported = medians(comparison.reported[mix][name].runs)
            place = (reported["dollars_per_h"], max(reported["violations_pct"], LEAST_PCT))
            _frontier(axes, name, own, place, COLOURS[number % len(COLOURS)])
        _tidy(axes, f"{mix} mix, simulated")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    figure.savefig(path, dpi=110)


def _frontier(axes: Axes, name: str, tuned: Tuned, reported: tuple[float, float], colour: str) -> None:
    points = sorted((p.figures.dollars_per_h, max(p.figures.violations_pct, LEAST_PCT)) for p in tuned.frontier)
    axes.plot(*zip(*points, strict=True), marker="o", markersize=3.5, linewidth=1.3, color=colour, label=name)
    axes.plot(*reported, marker="*", markersize=13, color=colour, markeredgecolor=INK, linestyle="none")


def _tidy(axes: Axes, title: str) -> None:
    axes.axhline(VIOLATIONS_PCT, color=INK, linewidth=0.8, linestyle="--")
    axes.set_title(f"{title}\nlines: tuning, by headroom; stars: reported hours", fontsize=10, color=INK)
    axes.set_xlabel("dollars per hour", color=INK)
    axes.set_ylabel("late or cut short, %", color=INK)
    axes.set_yscale("log")
    axes.set_xlim(left=0.0)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8)
