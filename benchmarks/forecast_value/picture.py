"""Frontiers, and what happened around two bursts, as one picture."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from benchmarks.forecast_value.comparison import BUDGET, Result
from benchmarks.forecast_value.frontier import kinds_of
from benchmarks.forecast_value.parts import LEAD_S, Part
from benchmarks.forecast_value.play import Outcome
from benchmarks.forecast_value.policies import ORACLE, REACTIVE
from benchmarks.forecast_value.service import worker_qps
from simulator.reporting.comparison_plot import COLOURS
from simulator.reporting.plot import GRID, INK

SHOWN = 2
WINDOW_S = 10
BEFORE_S, AFTER_S = 300, 900
"""What is shown around the greatest rise of an hour."""

LEAST_PCT = 1e-3
"""Fewer violations are drawn as so many, on a logarithmic axis."""


def save_picture(path: Path, result: Result, best: str) -> None:
    """A PNG: violations by workers for every kind of hours, and the hours in which ``best`` helped most and least."""
    figure = Figure(figsize=(13, 11), layout="constrained")
    kinds = kinds_of(result.choice)
    rows: Sequence[SubFigure] = list(figure.subfigures(2, 1, height_ratios=(1, 1.5)))  # type: ignore[arg-type]
    colours = {name: INK if name == ORACLE else COLOURS[n % len(COLOURS)] for n, name in enumerate(result.outcomes)}
    for axes, kind in zip(np.atleast_1d(rows[0].subplots(1, len(kinds))), kinds, strict=True):
        _frontiers(axes, result, kind, colours)
    rows[0].legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=9, frameon=False, fontsize=8)
    shown = _telling(result, best)
    panels = rows[1].subplots(2, max(len(shown), 1), sharex="col", squeeze=False, height_ratios=(2, 1))
    for column, number in zip(panels.T, shown, strict=False):
        _burst(column, result, number, (REACTIVE, ORACLE, best), colours)
    if shown:
        rows[1].legend(
            *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8
        )
    figure.savefig(path, dpi=110)


def _frontiers(axes: Axes, result: Result, kind: str, colours: dict[str, str]) -> None:
    for number, (name, points) in enumerate(result.points(kind).items()):
        ordered = sorted(points, key=lambda point: point.workers)
        axes.plot(
            [point.workers for point in ordered],
            [max(point.violations_pct, LEAST_PCT) for point in ordered],
            marker="o",
            markersize=3.5,
            linewidth=2 if name in (REACTIVE, ORACLE) else 1.3,
            color=colours[name],
            linestyle="-" if number < len(COLOURS) else "--",
            label=name,
        )
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.8 * LEAST_PCT)
    axes.set_xlabel("workers in the mean")
    axes.set_ylabel("violations, %")
    axes.set_title(f"{kind} hours", fontsize=10, loc="left")
    _tidy(axes)


def _burst(column: Sequence[Axes], result: Result, number: int, names: Sequence[str], colours: dict[str, str]) -> None:
    """The load and what the workers that are ready can serve, and below the queries in violation."""
    part, run = result.choice.parts[number], result.number(BUDGET)
    load_qps = _means(part.played)
    middle_s = LEAD_S + _onset_s(part)
    minutes = (np.arange(len(load_qps) + 1) * WINDOW_S - middle_s) / 60
    above, below = column
    above.stairs(load_qps, minutes, color="#cccccc", fill=True, label="load")
    for name in names:
        outcome = result.outcomes[name][run][number]
        at_min = (np.array([size.at_s for size in outcome.sizes]) - middle_s) / 60
        served_qps = [size.ready * worker_qps() for size in outcome.sizes]
        above.step(at_min, served_qps, where="post", color=colours[name], linewidth=1.4, label=f"room of {name}")
        below.stairs(_means(outcome.violated[: len(part.played)]), minutes, color=colours[name], baseline=None)
    above.set_ylabel("queries/s")
    above.set_title(f"{_clock(part, middle_s)}, {BUDGET:g} times the oracle's workers", fontsize=10, loc="left")
    below.set_ylabel("violated/s")
    below.set_xlabel("min from the rise")
    above.set_xlim(-BEFORE_S / 60, AFTER_S / 60)
    for axes in column:
        axes.set_ylim(bottom=0)
        _tidy(axes)


def _telling(result: Result, best: str) -> list[int]:
    """The bursty parts in which the forecaster saved the largest and the smallest share of what was violated."""
    run = result.number(BUDGET)
    theirs, ours = result.outcomes[REACTIVE][run], result.outcomes[best][run]

    def left(number: int) -> float:
        violations: tuple[Outcome, Outcome] = (ours[number], theirs[number])
        return violations[0].violations / max(violations[1].violations, 1)

    bursty = sorted((n for n, part in enumerate(result.choice.parts) if part.bursts), key=left)
    return bursty if len(bursty) <= SHOWN else [bursty[0], bursty[-1]]


def _onset_s(part: Part) -> int:
    """When the load rises most within the part."""
    means = np.convolve(part.played[LEAD_S:], np.ones(30) / 30, "valid")
    return int(np.argmax(means[30:] - means[:-30])) + 30


def _means(per_second: NDArray[np.int64]) -> NDArray[np.float64]:
    whole = len(per_second) // WINDOW_S * WINDOW_S
    means: NDArray[np.float64] = per_second[:whole].reshape(-1, WINDOW_S).mean(axis=1)
    return means


def _clock(part: Part, middle_s: int) -> str:
    day, rest_s = divmod(part.begin_s + middle_s, 86_400)
    return f"day {day}, {rest_s // 3600:02d}:{rest_s % 3600 // 60:02d}"


def _tidy(axes: Axes) -> None:
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8)
