"""Accuracy drop over violations, a plot for each trace: live as marks, simulated as rings."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.live_proteus.figures import Row

COLORS = {
    "accord": "#111111",
    "accord_roomy": "#54a24b",
    "sommelier": "#4c78a8",
    "sommelier_tight": "#9ecae9",
    "infaas": "#e39c37",
    "clipper_ha": "#b279a2",
    "clipper_ht": "#999999",
}
GRID = "#dddddd"


def save_picture(rows: Sequence[Row], path: Path) -> None:
    """One PNG."""
    traces = list(dict.fromkeys(row.trace for row in rows))
    figure = Figure(figsize=(5 * len(traces) + 1, 4.5), layout="constrained")
    for axes, trace in zip(figure.subplots(1, len(traces), squeeze=False)[0], traces, strict=True):
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xscale("symlog", linthresh=0.1)
        for row in (row for row in rows if row.trace == trace):
            color = COLORS[row.system]
            axes.scatter(row.live.violation_pct, row.live.drop_pct, 40, color, label=row.system)
            axes.scatter(row.simulated.violation_pct, row.simulated.drop_pct, 70, facecolors="none", edgecolors=color)
        axes.set_title(trace, loc="left", fontsize=10)
        axes.set_xlabel("violations, %")
        axes.set_ylabel("accuracy drop, points")
        axes.legend(frameon=False, fontsize=8, title="marks live, rings simulated")
    figure.savefig(path, dpi=120)
