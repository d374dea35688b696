"""Accuracy against how many members run, with intervals."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

SHOWN = ("best_single", "full_plain", "full_accuracy_weighted", "full_weighted", "intervals", "dynamic")
COLOURS = ("#777777", "#c2a5cf", "#9970ab", "#5e3c99", "#e08214", "#1b7837")


def draw(cases: Mapping[str, Mapping[str, Any]], file: Path) -> None:
    """One panel per case."""
    figure = Figure(figsize=(5.2 * len(cases), 4.2), layout="constrained")
    for axes, (name, case) in zip(figure.subplots(1, len(cases), squeeze=False)[0], cases.items(), strict=True):
        for system, colour in zip(SHOWN, COLOURS, strict=True):
            run = case[system]
            low, high = run["accuracy_ci95"]
            axes.errorbar(
                run["mean_members"],
                run["accuracy"],
                yerr=[[max(run["accuracy"] - low, 0.0)], [max(high - run["accuracy"], 0.0)]],
                fmt="o",
                color=colour,
                capsize=3,
                label=system.replace("_", " "),
            )
        axes.set_title(f"{name}: {case['members']} members, {case['rows']['test']:,} test rows")
        axes.set_xlabel("members that run, mean")
        axes.set_ylabel("accuracy, %")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=8)
    figure.savefig(file, dpi=130)
