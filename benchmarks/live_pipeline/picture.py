"""A round as a picture: load, latency and who was right over time, with marks for plans and for the death."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.adaptation.plan_times import epoch_s, made_true
from benchmarks.live_pipeline.scene import Phases
from serve_app.testing.queries import Queries

INK, GRID, LOAD, LINE, BAD, PLAN = "#333333", "#dddddd", "#4c78a8", "#111111", "#c44e52", "#8c6bb1"
WINDOW_S = 1.0
ACCURACY_WINDOW_S = 5.0


def save_picture(
    path: Path,
    queries: Queries,
    phases: Phases,
    begin_s: float,
    began_at_s: float,
    slo_ms: float,
    decisions: Sequence[Mapping[str, Any]],
) -> None:
    """One PNG of one round; instants as in `benchmarks.live_pipeline.figures`."""
    figure = Figure(figsize=(10, 6.5), layout="constrained")
    rates, latency, accuracy = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1.4, 1))
    at_s = queries.intended_s - begin_s
    marks_s = [epoch_s(each["in_force_at"]) - began_at_s for each in made_true(decisions)]
    for axes in (rates, latency, accuracy):
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
        for number, mark_s in enumerate(each for each in marks_s if 0 <= each <= phases.duration_s):
            label = "a plan comes into force" if axes is rates and not number else None
            axes.axvline(mark_s, color=PLAN, linewidth=1, linestyle=(0, (3, 2)), label=label)
        axes.axvline(phases.kill_s, color=BAD, linewidth=1.4, label="a worker dies" if axes is rates else None)
    counts, edges_s = np.histogram(at_s, np.arange(0.0, phases.duration_s + WINDOW_S, WINDOW_S))
    rates.stairs(counts / WINDOW_S, edges_s, color=LOAD, fill=True, alpha=0.35)
    rates.set_ylabel("queries/s")
    rates.set_ylim(bottom=0)
    rates.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=3, frameon=False, fontsize=8)
    answered = ~queries.failed
    latency.scatter(at_s[answered], queries.latency_ms[answered], s=5, color=LINE, linewidths=0, alpha=0.6)
    latency.scatter(at_s[queries.failed], np.full(int(queries.failed.sum()), slo_ms), s=24, color=BAD, marker="x")
    latency.axhline(slo_ms, color=BAD, linewidth=1, linestyle=":")
    latency.annotate("objective", (0, slo_ms), xytext=(2, 3), textcoords="offset points", color=BAD, fontsize=8)
    latency.set_ylabel("latency, ms")
    latency.set_ylim(bottom=0)
    edges_s = np.arange(0.0, phases.duration_s + ACCURACY_WINDOW_S, ACCURACY_WINDOW_S)
    window = np.digitize(at_s, edges_s) - 1
    for values, color, label in ((queries.correct, LINE, "right"), (queries.accuracy, LOAD, "expected")):
        means = [100.0 * np.mean(values[answered & (window == number)]) for number in range(len(edges_s) - 1)]
        accuracy.stairs(means, edges_s, color=color, baseline=None, linewidth=1.8, label=label)
    accuracy.set_ylabel("numbers right, %")
    accuracy.set_xlabel("time, s")
    accuracy.set_xlim(0, phases.duration_s)
    accuracy.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2, frameon=False, fontsize=8)
    figure.align_ylabels((rates, latency, accuracy))
    figure.suptitle(
        f"Strips of digits, {phases.base_qps:g} to {phases.doubled_qps:g} queries/s and back, {len(queries):,} queries",
        x=0.01,
        ha="left",
        fontsize=11,
        color=INK,
    )
    figure.savefig(path, dpi=120)
