"""A sweep in figures and as a picture."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.table import Table

from benchmarks.ramsis.sweep import Outcome, Point
from benchmarks.ramsis.systems import BASELINES, SYSTEMS

MOST_VIOLATIONS_PCT = 5.0
"""Points with more are left out of plots (section 7.1)."""

LOOKS = {
    "ramsis": ("RAMSIS", "#4c78a8", "s", "-"),
    "ramsis_slack": ("RAMSIS, our slack", "#72a0d0", "s", ":"),
    "ramsis_grouped": ("RAMSIS, grouped", "#9ecae9", "s", ":"),
    "accord_single": ("Accord, no groups", "#777777", "o", ":"),
    "jellyfish_plus": ("Jellyfish+", "#999999", "v", "--"),
    "model_switching": ("ModelSwitching", "#e39c37", "^", "--"),
    "slack_fit": ("SlackFit", "#b279a2", "D", "--"),
    "accord": ("Accord", "#111111", "o", "-"),
}


def as_json(points: Sequence[Point]) -> dict[str, Any]:
    """Points, and increases of accuracy in percentage points over all of them."""
    return {
        "points": [
            {"slo_ms": 1e3 * point.slo_s, "workers": point.workers, "load_qps": point.load_qps}
            | {system: asdict(point.outcomes[system]) for system in SYSTEMS}
            for point in points
        ],
        "increase_pct": {name: increase(points, "ramsis", name) for name in BASELINES},
        "accord_increase_pct": {name: increase(points, "accord", name) for name in SYSTEMS[:-1]},
        "workers_saved_pct": {
            system: {name: workers_saved(points, system, name) for name in BASELINES} for system in ("ramsis", "accord")
        },
    }


def increase(points: Sequence[Point], system: str, baseline: str) -> dict[str, float | None]:
    """How much more accurate a system is, over the points at which both answered anything in time."""
    pairs = [(point.outcomes[system].accuracy_pct, point.outcomes[baseline].accuracy_pct) for point in points]
    return _summed_up([ours - theirs for ours, theirs in pairs if ours is not None and theirs is not None])


def workers_saved(points: Sequence[Point], system: str, baseline: str) -> dict[str, float | None]:
    """How many fewer workers a system needs for the baseline's accuracy, in percent (section 7.1).

    Over the points at which the baseline has few violations: with the same objective and load, the fewest workers that
    were played at which the system is as accurate, with few violations as well. Points of which no such number is known
    are left out, and all where one number of workers was played.
    """
    if len({point.workers for point in points}) < 2:
        return _summed_up([])
    saved = []
    for point in points:
        theirs = point.outcomes[baseline]
        enough = [
            other.workers
            for other in points
            if (other.slo_s, other.load_qps) == (point.slo_s, point.load_qps)
            and other.outcomes[system].violation_pct <= MOST_VIOLATIONS_PCT
            and (other.outcomes[system].accuracy_pct or 0.0) >= (theirs.accuracy_pct or 0.0)
        ]
        if enough and theirs.accuracy_pct is not None and theirs.violation_pct <= MOST_VIOLATIONS_PCT:
            saved.append(100.0 * (1.0 - min(enough) / point.workers))
    return _summed_up(saved)


def _summed_up(values: list[float]) -> dict[str, float | None]:
    """Mean, median and range; None where there are no values."""
    return {
        "average": sum(values) / len(values) if values else None,
        "median": median(values) if values else None,
        "lowest": min(values, default=None),
        "highest": max(values, default=None),
    }


def as_table(points: Sequence[Point]) -> Table:
    """Accuracy and violations side by side."""
    table = Table(
        "ms", "workers", "queries/s", *(LOOKS[system][0] for system in SYSTEMS), title="accuracy % (violations %)"
    )
    for point in points:
        cells = [_cell(point.outcomes[system]) for system in SYSTEMS]
        table.add_row(f"{1e3 * point.slo_s:g}", f"{point.workers}", f"{point.load_qps:g}", *cells)
    return table


def increases(points: Sequence[Point]) -> str:
    """Increases in words, one line per pair of systems."""
    lines = []
    for system, baseline in (*(("ramsis", name) for name in BASELINES), *(("accord", name) for name in SYSTEMS[:-1])):
        more = increase(points, system, baseline)
        lines.append(
            f"{system} over {baseline}: {_number(more['average'])} points on average, {_number(more['median'])} in the "
            f"median, from {_number(more['lowest'])} to {_number(more['highest'])}"
        )
    return "\n".join(lines)


def save_plot(points: Sequence[Point], file: Path) -> None:
    """Accuracy over load, or over workers where one trace was played, with a panel for each objective; points with many
    violations are left out."""
    slos_s = sorted({point.slo_s for point in points})
    figure = Figure(figsize=(8 * len(slos_s), 5), layout="constrained")
    for slo_s, axes in zip(slos_s, figure.subplots(1, len(slos_s), squeeze=False)[0], strict=True):
        _draw(axes, [point for point in points if point.slo_s == slo_s])
        title = f"{1e3 * slo_s:g} ms, points with violations of at most {MOST_VIOLATIONS_PCT:g}%"
        axes.set_title(title, loc="left", fontsize=10)
    figure.savefig(file, dpi=120)


def _draw(axes: Axes, points: Sequence[Point]) -> None:
    by_workers = len({point.load_qps for point in points}) == 1
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


def _cell(outcome: Outcome) -> str:
    return f"{_number(outcome.accuracy_pct)} ({outcome.violation_pct:.2f})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
