"""Predictions as a picture: predicted against measured slowdown."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from predictor.examples import Examples
from predictor.predictor import Prediction

INK, GRID = "#333333", "#dddddd"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#000000")
LONGEST_TITLE = 70  # characters; of longer ones the end is shown

Panel = tuple[Examples, Prediction, float]
"""Truth, prediction, and mean absolute error."""


def save_predictions(path: Path, panels: Mapping[str, Panel]) -> None:
    """One panel for each title: a dot for each variant of each configuration, in the colour of its machine type.

    Bars are one standard deviation of the error that the predictor expects.
    """
    figure = Figure(figsize=(1.0 + 5.2 * len(panels), 5.6), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(panels), sharex=True, sharey=True))
    machines = sorted({each.machine for truth, _, _ in panels.values() for each in truth.configurations})
    for own, (title, (truth, prediction, error)) in zip(axes, panels.items(), strict=True):
        _draw(own, truth, prediction, machines)
        shown = title if len(title) <= LONGEST_TITLE else f"…{title[1 - LONGEST_TITLE :]}"
        own.set_title(f"{shown}\nmean absolute error {error:.4f}", loc="left", fontsize=9, color=INK)
        own.set_xlabel("measured slowdown (latency together / alone)")
    axes[0].set_ylabel("predicted slowdown")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path, dpi=120)


def _draw(axes: Axes, truth: Examples, prediction: Prediction, machines: list[str]) -> None:
    machine_of = np.array([each.machine for each in truth.configurations for _ in each.variants])
    for number, machine in enumerate(machines):
        own = machine_of == machine
        axes.errorbar(
            truth.slowdown[own],
            prediction.slowdown[own],
            yerr=prediction.deviation[own],
            fmt="o",
            markersize=3.5,
            elinewidth=0.5,
            alpha=0.7,
            color=COLOURS[number % len(COLOURS)],
            label=machine,
        )
    low = float(min(truth.slowdown.min(), prediction.slowdown.min(), 1.0))
    high = float(max(truth.slowdown.max(), prediction.slowdown.max()))
    axes.plot([low, high], [low, high], color=INK, linewidth=0.8, linestyle=":")
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
