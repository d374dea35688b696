"""Several systems under one workload, as one picture: what they served, how accurately, and what they missed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from simulator.control_path import PlanChange
from simulator.metrics import Metrics, Windows
from simulator.record import Record
from simulator.reporting.plot import GRID, INK

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#8c564b")
"""Told apart by the colour-blind as well; repeated where there are more systems."""

System = tuple[Record, Sequence[PlanChange]]


def save_comparison(path: Path, title: str, systems: Mapping[str, System], window_s: float) -> None:
    """A PNG of systems by name, the first on top; their records must be of the same arrivals.

    Each point of a curve is a window of ``window_s``, with the queries that arrived in it; `Metrics` are of the whole
    run.
    """
    figure = Figure(figsize=(11, 10), layout="constrained")
    panels = figure.subplots(4, 1, sharex=True, height_ratios=(2, 2, 2, 0.25 + 0.16 * len(systems)))
    throughput, accuracy, violations, plans = panels
    for axes in panels:
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)

    for number, (name, (record, changes)) in enumerate(systems.items()):
        windows = Windows.of(record, window_s)
        edges_s = np.append(windows.start_s, len(windows.arrived) * window_s)
        if number == 0:
            throughput.stairs(windows.arrived / window_s, edges_s, color="#cccccc", fill=True, label="demand")
        style = {"color": COLOURS[number % len(COLOURS)], "linewidth": 2.2 if number == 0 else 1.3, "baseline": None}
        order = len(systems) - number + 2
        throughput.stairs(windows.answered / window_s, edges_s, label=_label(name, record), zorder=order, **style)
        accuracy.stairs(windows.effective_accuracy_pct, edges_s, zorder=order, **style)
        ratio = windows.violated / np.maximum(windows.arrived, 1.0)
        violations.stairs(ratio, edges_s, zorder=order, **style)
        in_force_s = [change.in_force_s for change in changes if change.in_force_s]
        plans.plot(in_force_s, [number] * len(in_force_s), "|", color=style["color"], markersize=9)
        plans.set_xlim(0, edges_s[-1] or 1.0)

    _label_axes(throughput, accuracy, violations, plans, list(systems))
    figure.align_ylabels(panels[:3])
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    figure.suptitle(f"{title}\nby instant of arrival, in windows of {window_s:g} s", x=0.01, ha="left", fontsize=11)
    figure.savefig(path, dpi=120)


def _label_axes(throughput: Axes, accuracy: Axes, violations: Axes, plans: Axes, names: list[str]) -> None:
    throughput.set_ylabel("answered, queries/s")
    throughput.set_ylim(bottom=0)
    accuracy.set_ylabel("effective accuracy, %")
    accuracy.set_ylim(top=100.5)
    violations.set_ylabel("SLO violations")
    violations.set_ylim(bottom=0)
    violations.yaxis.set_major_formatter(PercentFormatter(1.0))
    plans.set_ylabel("new plans")
    plans.set_yticks(range(len(names)), names, fontsize=8)
    plans.set_ylim(len(names) - 0.5, -0.5)
    plans.set_xlabel("time, s")


def _label(name: str, record: Record) -> str:
    metrics = Metrics.of(record)
    parts = [f"{name}: {metrics.throughput_qps:.0f} queries/s"]
    if metrics.effective_accuracy_pct is not None:
        parts.append(
            f"accuracy {metrics.effective_accuracy_pct:.2f}%, drop {metrics.max_accuracy_drop_pct:.2f} at most"
        )
    return ", ".join([*parts, f"violations {100 * metrics.slo_violation_ratio:.2f}%"])
