"""An experiment as a picture: throughput, violations and accuracy over time, with marks for what was done."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

INK, GRID, LOAD, LINE, BAD, UNDONE = "#333333", "#dddddd", "#4c78a8", "#111111", "#c44e52", "#54a24b"
SMOOTHED = 5
"""Accuracy is the mean of so many windows: one has few queries."""


def save_picture(path: Path, title: str, figures: Mapping[str, Any]) -> None:
    """One PNG of the outcome of a load."""
    from matplotlib.figure import Figure  # takes a second or more to import

    told = {name: np.array(values, dtype=np.float64) for name, values in figures["series"].items()}
    window_s = float(told.pop("window_s"))
    at_s = (np.arange(len(told["sent"])) + 0.5) * window_s
    figure = Figure(figsize=(10, 6.5), layout="constrained")
    rates, violations, accuracy = figure.subplots(3, 1, sharex=True, height_ratios=(1.4, 1, 1))
    for axes in (rates, violations, accuracy):
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
        seen: set[str] = set()
        for mark in figures["marks"]:
            label = mark["text"] if axes is rates and mark["text"] not in seen and len(seen) < 6 else None
            seen.add(mark["text"])
            color = BAD if mark["fault"] else UNDONE
            axes.axvline(
                mark["at_s"], color=color, linewidth=1.2, linestyle="-" if mark["fault"] else "--", label=label
            )
    rates.plot(at_s, told["sent"] / window_s, color=LOAD, linewidth=1.2, label="sent")
    rates.plot(at_s, told["answered"] / window_s, color=LINE, linewidth=1.6, label="answered")
    rates.set_ylabel("queries/s")
    rates.set_ylim(bottom=0)
    rates.legend(loc="lower left", ncols=4, frameon=False, fontsize=8)
    sent = np.maximum(told["sent"], 1.0)
    violations.bar(at_s, 100 * told["violated"] / sent, window_s, color=BAD, alpha=0.45, label="late or failed")
    violations.bar(at_s, 100 * told["failed"] / sent, window_s, color=BAD, label="failed")
    violations.set_ylabel("of queries, %")
    violations.set_ylim(0, max(5.0, 105 * float((told["violated"] / sent).max())))
    violations.legend(loc="upper left", ncols=2, frameon=False, fontsize=8)
    kernel = np.ones(min(SMOOTHED, len(at_s)))
    judged, right = (np.convolve(told[name], kernel, "same") for name in ("judged", "right"))
    accuracy.plot(at_s, np.where(judged > 0, 100 * right / np.maximum(judged, 1.0), np.nan), color=LINE, linewidth=1.6)
    accuracy.set_ylabel("answers right, %")
    accuracy.set_xlabel("time, s")
    accuracy.set_xlim(0, len(at_s) * window_s)
    figure.align_ylabels((rates, violations, accuracy))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    figure.savefig(path, dpi=110)
