"""A soak as a picture: throughput, violations, and the memory of every process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from chaos.report.picture import BAD, GRID, INK, LINE, LOAD

LEAST_SAMPLES = 4


def save_picture(path: Path, figures: Mapping[str, Any], memory: Mapping[str, tuple[list[float], list[float]]]) -> None:
    """One PNG; ``memory`` has by process seconds and MiB."""
    told = figures["series"]
    at_s = (np.arange(len(told["sent"])) + 0.5) * told["window_s"]
    figure = Figure(figsize=(10, 6.5), layout="constrained")
    rates, violations, taken = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1, 1.4))
    for axes in (rates, violations, taken):
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
        for mark in figures["marks"]:
            if mark["fault"]:
                axes.axvline(mark["at_s"], color=BAD, linewidth=0.6, alpha=0.6)
    rates.plot(at_s, np.array(told["sent"]) / told["window_s"], color=LOAD, linewidth=1.0, label="sent")
    rates.plot(at_s, np.array(told["answered"]) / told["window_s"], color=LINE, linewidth=1.0, label="answered")
    rates.set_ylabel("queries/s")
    rates.legend(loc="lower left", ncols=2, frameon=False, fontsize=8)
    violations.bar(at_s, 100 * np.array(told["violated"]) / np.maximum(told["sent"], 1), told["window_s"], color=BAD)
    violations.set_ylabel("late or failed, %")
    for seconds, mib in memory.values():
        if len(seconds) >= LEAST_SAMPLES:
            taken.plot(seconds, mib, linewidth=1.0)
    taken.set_ylabel("memory of each process, MiB")
    taken.set_ylim(bottom=0)
    taken.set_xlabel("time, s (red: faults)")
    figure.suptitle("Load with faults at random", x=0.01, ha="left", fontsize=11, color=INK)
    figure.savefig(path, dpi=110)
