"""A report as a picture: load, who answered how accurately, and what was violated, over time."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from simulator.reporting.report import EndpointReport, Report

Floats = NDArray[np.float64]

INK, GRID, LOAD, LINE, BAD = "#333333", "#dddddd", "#4c78a8", "#111111", "#c44e52"


def save_plots(report: Report, folder: Path) -> list[Path]:
    """One PNG per endpoint, named after it, in a folder that is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, endpoint in report.endpoints.items():
        paths.append(folder / f"{name}.png")
        _figure(name, report, endpoint).savefig(paths[-1], dpi=120)
    return paths


def _figure(name: str, report: Report, endpoint: EndpointReport) -> Figure:
    series = endpoint.series
    edges_s = np.append(series.start_s, len(series.start_s) * series.interval_s)
    figure = Figure(figsize=(10, 8), layout="constrained")
    load, shares, violations = figure.subplots(3, 1, sharex=True, height_ratios=(1, 2.2, 1))
    for axes in (load, shares, violations):
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)

    load.stairs(series.arrivals_qps, edges_s, color=LOAD, fill=True, alpha=0.25)
    load.stairs(series.arrivals_qps, edges_s, color=LOAD, linewidth=1.5, baseline=None)
    load.set_ylim(0, 1.1 * max(series.arrivals_qps, default=1.0) or 1.0)
    load.set_ylabel("load, queries/s")

    base = np.zeros(len(series.start_s))
    colours = matplotlib.colormaps["viridis"](np.linspace(0.95, 0.15, max(len(series.share_pct), 1)))
    for (variant, share_pct), colour in zip(reversed(series.share_pct.items()), colours, strict=False):
        top = base + _numbers(share_pct, 0.0)
        label = f"{variant} ({endpoint.share_pct[variant]:.1f}%)"
        shares.stairs(top, edges_s, baseline=base, fill=True, color=colour, label=label, alpha=0.85, linewidth=0)
        base = top
    shares.set_ylim(0, 100)
    shares.set_ylabel("share of answers, %")
    handles, labels = shares.get_legend_handles_labels()
    accuracy = shares.twinx()
    accuracy.spines[["top"]].set_visible(False)
    accuracy.stairs(_numbers(series.accuracy_pct, np.nan), edges_s, baseline=None, color="white", linewidth=4)
    accuracy.stairs(_numbers(series.accuracy_pct, np.nan), edges_s, baseline=None, color=LINE, linewidth=2)
    accuracy.set_ylabel("accuracy of answers in time, % (black line)")
    accuracy.yaxis.set_major_locator(MaxNLocator(6))
    shares.legend(
        handles[::-1],
        labels[::-1],
        title="variant, most accurate first",
        loc="upper left",
        bbox_to_anchor=(1.08, 1.0),
        frameon=False,
        fontsize=8,
        title_fontsize=8,
    )

    violated = _numbers(series.violation_pct, 0.0)
    violations.stairs(violated, edges_s, fill=True, color=BAD, alpha=0.8)
    violations.set_ylim(0, min(100.0, max(1.0, 1.15 * violated.max(initial=0.0))))
    violations.set_ylabel("violations, %")
    violations.set_xlabel("time, s")
    violations.set_xlim(0, edges_s[-1] or 1.0)

    figure.align_ylabels((load, shares, violations))
    figure.suptitle(_headline(name, report, endpoint), x=0.01, ha="left", fontsize=11, color=INK)
    return figure


def _headline(name: str, report: Report, endpoint: EndpointReport) -> str:
    parts = [f"{endpoint.queries:,} queries on {report.workers} workers, {report.utilisation_pct:.0f}% busy"]
    if endpoint.accuracy_pct is not None:
        parts.append(f"accuracy {endpoint.accuracy_pct:.2f}%")
    if endpoint.violation_pct is not None:
        parts.append(f"violations {endpoint.violation_pct:.3g}%")
    if endpoint.latency_ms is not None:
        parts.append(f"p50 {endpoint.latency_ms['p50']:.0f} ms, p99 {endpoint.latency_ms['p99']:.0f} ms")
    return f"{name}\n{'  ·  '.join(parts)}"


def _numbers(values: list[float | None], missing: float) -> Floats:
    return np.array([missing if value is None else value for value in values])
