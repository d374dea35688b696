"""A sweep in figures and as a picture."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.table import Table

from benchmarks.ramsis.sweep import Outcome, Point
from benchmarks.ramsis.systems import BASELINES, SYSTEMS

MOST_VIOLATIONS_PCT = 5.0
"""Points with more are left out of plots (section 7.1)."""

LOOKS = {
    "ramsis": ("RAMSIS", "#4c78a8", "s", "-"),
    "jellyfish_plus": ("Jellyfish+", "#999999", "v", "--"),
    "model_switching": ("ModelSwitching", "#e39c37", "^", "--"),
    "accord": ("Accord", "#111111", "o", "-"),
}


def as_json(points: Sequence[Point]) -> dict[str, Any]:
    """Points, and increases of accuracy in percentage points over all of them."""
    return {
        "points": [
            {"workers": point.workers, "load_qps": point.load_qps}
            | {system: asdict(point.outcomes[system]) for system in SYSTEMS}
            for point in points
        ],
        "increase_pct": {name: increase(points, "ramsis", name) for name in BASELINES},
        "accord_increase_pct": {name: increase(points, "accord", name) for name in SYSTEMS[:-1]},
    }


def increase(points: Sequence[Point], system: str, baseline: str) -> dict[str, float | None]:
    """How much more accurate a system is: the mean over the points at which both answered anything in time, and the
    highest; None where there is no such point."""
    pairs = [(point.outcomes[system].accuracy_pct, point.outcomes[baseline].accuracy_pct) for point in points]
    more = [ours - theirs for ours, theirs in pairs if ours is not None and theirs is not None]
    return {"average": sum(more) / len(more) if more else None, "highest": max(more, default=None)}


def as_table(points: Sequence[Point]) -> Table:
    """Accuracy and violations side by side."""
    table = Table("workers", "queries/s", *(LOOKS[system][0] for system in SYSTEMS), title="accuracy % (violations %)")
    for point in points:
        cells = [_cell(point.outcomes[system]) for system in SYSTEMS]
        table.add_row(f"{point.workers}", f"{point.load_qps:g}", *cells)
    return table


def increases(points: Sequence[Point]) -> str:
    """Increases in words, one line per pair of systems."""
    lines = []
    for system, baseline in (*(("ramsis", name) for name in BASELINES), *(("accord", name) for name in SYSTEMS[:-1])):
        more = increase(points, system, baseline)
        highest = _number(more["highest"])
        lines.append(f"{system} over {baseline}: {_number(more['average'])} points on average, {highest} at best")
    return "\n".join(lines)


def save_plot(points: Sequence[Point], file: Path) -> None:
    """Accuracy over load, or over workers where one trace was played; points with many violations are left out."""
    by_workers = len({point.load_qps for point in points}) == 1
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for system in SYSTEMS:
        label, colour, marker, line = LOOKS[system]
        shown = [
            (point.workers if by_workers else point.load_qps, point.outcomes[system].accuracy_pct)
            for point in points
            if point.outcomes[system].violation_pct <= MOST_VIOLATIONS_PCT
        ]
        axes.plot(*zip(*shown, strict=True) if shown else ((), ()), line, marker=marker, color=colour, label=label)
    axes.set_xlabel("workers" if by_workers else "load, queries/s")
    axes.set_ylabel("accuracy of queries in time, %")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    axes.set_title(f"points with violations of at most {MOST_VIOLATIONS_PCT:g}%", loc="left", fontsize=10)
    figure.savefig(file, dpi=120)


def _cell(outcome: Outcome) -> str:
    return f"{_number(outcome.accuracy_pct)} ({outcome.violation_pct:.2f})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
