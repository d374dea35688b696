"""Two pictures: what weights do (Figure 14), and what systems do on the bursty excerpt (Figures 8 to 12)."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

from benchmarks.ipa.comparison import Result
from benchmarks.ipa.excerpts import MEAN_S
from benchmarks.ipa.systems import FA2_HIGH, FA2_LOW, IPA, LITERAL, LOKI, RIM
from benchmarks.ipa.tuning import ACCURACY, BALANCED_NAME, RESOURCE
from simulator.reporting.plot import GRID, INK, LOAD

COLOURS = {
    IPA: "#c44e52",
    LITERAL: "#dd8452",
    FA2_LOW: "#4c78a8",
    FA2_HIGH: "#2f4b6e",
    RIM: "#8f8f8f",
    LOKI: "#59a14f",
}
LABELS = {IPA: "IPA", LITERAL: "IPA, the paper's", FA2_LOW: "FA2-low", FA2_HIGH: "FA2-high", RIM: "RIM", LOKI: "Loki"}
CORES = (2, 5, 10, 20, 50, 100, 200, 500)

MARKERS = {RESOURCE: "v", BALANCED_NAME: "D", ACCURACY: "^"}


def save_frontier(path: Path, results: Mapping[str, Result]) -> None:
    """Accuracy over cost for every weight, on the bursty excerpt, with the other systems beside."""
    figure = Figure(figsize=(14, 3.6), layout="constrained")
    panels = figure.subplots(1, len(results), sharey=True, squeeze=False)[0]
    for axes, (name, result) in zip(panels, results.items(), strict=True):
        points = list(result.frontier.values())
        axes.plot(
            [point.cost_cores for point in points],
            [point.accuracy for point in points],
            color=COLOURS[IPA],
            marker="o",
            markersize=3,
            linewidth=1.5,
        )
        for preset, alpha in result.tuned.presets.items():
            point = result.frontier[alpha]
            label = f"IPA, {preset.replace('_', ' ')}"
            axes.plot(point.cost_cores, point.accuracy, MARKERS[preset], color=COLOURS[IPA], markersize=8, label=label)
        for system in (FA2_LOW, FA2_HIGH, LOKI, RIM):
            point = result.outcomes["bursty"][system]
            axes.plot(point.cost_cores, point.accuracy, "s", color=COLOURS[system], label=LABELS[system])
        axes.set_xscale("log")
        _cores(axes.xaxis)
        axes.set_title(name, fontsize=10, loc="left")
        axes.set_xlabel("cores in the mean")
        _tidy(axes)
    figure.axes[0].set_ylabel("accuracy score")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def save_bursty(path: Path, results: Mapping[str, Result]) -> None:
    """Load, cores, accuracy and violations of every system over the bursty excerpt, a column for each pipeline."""
    figure = Figure(figsize=(16, 8), layout="constrained")
    panels = figure.subplots(4, len(results), sharex=True, squeeze=False, height_ratios=(1, 1.6, 1.4, 1))
    for column, (name, result) in zip(panels.T, results.items(), strict=True):
        own = result.outcomes["bursty"]
        minutes = np.arange(len(own[IPA].timeline.load_qps) + 1) * MEAN_S / 60
        load, cost, accuracy, violations = column
        load.stairs(own[IPA].timeline.load_qps, minutes, color=LOAD, fill=True, alpha=0.4)
        load.set_title(name, fontsize=10, loc="left")
        load.set_ylim(bottom=0)
        for system, outcome in own.items():
            line = {"color": COLOURS[system], "linewidth": 2.0 if system == IPA else 1.2, "baseline": None}
            cost.stairs(outcome.timeline.cost_cores, minutes, label=LABELS[system], **line)
            accuracy.stairs(outcome.timeline.accuracy, minutes, **line)
            violations.stairs(outcome.timeline.violations_pct, minutes, **line)
        cost.set_yscale("log")
        _cores(cost.yaxis)
        accuracy.set_ylim(-4, 104)
        violations.set_ylim(0, 104)
        violations.set_xlabel("min")
        for axes in column:
            _tidy(axes)
    for axes, label in zip(panels[:, 0], ("load, queries/s", "cores", "accuracy score", "violations, %"), strict=True):
        axes.set_ylabel(label)
    handles, labels = panels[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.align_ylabels()
    figure.savefig(path, dpi=100)


def _cores(axis: Axis) -> None:
    """Whole numbers on a logarithmic axis."""
    axis.set_major_locator(FixedLocator(CORES))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_locator(NullLocator())


def _tidy(axes: Axes) -> None:
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8)
