"""Accuracy and violations over the load, live beside simulated."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.live_ramsis.figures import Outcome, Row
from benchmarks.ramsis.summary import LOOKS

GRID = "#dddddd"


def save_picture(rows: Sequence[Row], path: Path) -> None:
    """A column for each trace; lines are simulated, marks live."""
    traces = list(dict.fromkeys(row.trace for row in rows))
    figure = Figure(figsize=(5 * len(traces) + 1, 6.5), layout="constrained")
    grid = figure.subplots(2, len(traces), sharex=True, sharey="row", squeeze=False)
    for column, trace in enumerate(traces):
        accuracy, violations = grid[:, column]
        for axes in (accuracy, violations):
            axes.grid(color=GRID, linewidth=0.6)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
        for system in dict.fromkeys(row.system for row in rows):
            own = sorted((row for row in rows if (row.system, row.trace) == (system, trace)), key=lambda row: row.share)
            label, color, marker, _ = LOOKS[system]
            shares = [100 * row.share for row in own]
            for axes, figure_of in ((accuracy, _accuracy), (violations, _violations)):
                axes.plot(shares, [figure_of(row.simulated) for row in own], color=color, linewidth=1.2)
                axes.plot(shares, [figure_of(row.live) for row in own], marker, color=color, label=label)
        accuracy.set_title(trace, loc="left", fontsize=10)
        violations.set_xlabel("highest load, % of capacity")
    grid[0, 0].set_ylabel("accuracy of queries in time, %")
    grid[1, 0].set_ylabel("violations, %")
    grid[0, 0].legend(frameon=False, title="marks live, lines simulated", fontsize=8)
    figure.savefig(path, dpi=120)


def _accuracy(outcome: Outcome) -> float:
    return float("nan") if outcome.accuracy_pct is None else outcome.accuracy_pct


def _violations(outcome: Outcome) -> float:
    return outcome.violation_pct
