"""Forecasts as a picture: the load before and while it was forecast, what was to be forecast, and quantile bands."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator
from numpy.typing import NDArray

from forecast.series.report import instant, length
from forecast.series.series import DAY_S, LoadSeries
from forecast.training.backtest import Backtest
from forecast.training.scores import Scores
from forecast.training.task import ForecastTask

Floats = NDArray[np.float64]

INK, GRID, LOAD, TRUTH, MEDIAN = "#333333", "#dddddd", "#9aa5b1", "#111111", "#d55e00"

SHOWN = 180
"""Origins in a picture, the first ones: more cannot be told apart."""

BEFORE = 0.25
"""Of the time shown again as much history before it."""

TICKS_S = (10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, DAY_S, 7 * DAY_S)
MOST_TICKS = 10


def save_forecasts(path: Path, series: LoadSeries, task: ForecastTask, tests: Mapping[str, Backtest]) -> None:
    """One panel per model by name, from the first origin of the tests on; all must be of one task and series."""
    figure = Figure(figsize=(11, 1.2 + 3.2 * len(tests)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(len(tests), 1, sharex=True, sharey=True))
    highest = 1.0
    for axes, (name, test) in zip(panels, tests.items(), strict=True):
        highest = max(highest, _panel(axes, series, task, test))
        axes.set_title(_headline(name, test.scores), loc="left", fontsize=10, color=INK)
    panels[0].set_ylim(0, 1.05 * highest)
    _label_time(panels[-1])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.suptitle(_title(task, next(iter(tests.values()))), x=0.01, ha="left", fontsize=11, color=INK)
    figure.savefig(path, dpi=120)


def _panel(axes: Axes, series: LoadSeries, task: ForecastTask, test: Backtest) -> float:
    """Draw one model; gives the highest load that should be seen."""
    at_s, truth_qps = test.at_s[:SHOWN], test.truth_qps[:SHOWN]
    end_s = int(at_s[-1]) + task.horizon_s
    before_s = max(BEFORE * (end_s - at_s[0]), float(task.context_s))
    load = series.between(at_s[0] - before_s, end_s)

    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    axes.plot(*_broken(load.times_s, load.loads_qps), color=LOAD, linewidth=0.7, label=f"load, every {load.step_s} s")
    middle_s = at_s + task.lead_s + task.window_s // 2
    for low, high, alpha, label in ((0.05, 0.95, 0.2, "90% band"), (0.25, 0.75, 0.4, "50% band")):
        instants, lower_qps = _broken(middle_s, test.forecast.at(low)[:SHOWN])
        _, upper_qps = _broken(middle_s, test.forecast.at(high)[:SHOWN])
        axes.fill_between(instants, lower_qps, upper_qps, color=MEDIAN, alpha=alpha, linewidth=0, label=label)
    axes.plot(*_broken(middle_s, truth_qps), color=TRUTH, linewidth=1.4, label="truth")
    axes.plot(*_broken(middle_s, test.forecast.at(0.5)[:SHOWN]), color=MEDIAN, linewidth=1.4, label="median forecast")
    axes.axvline(float(at_s[0]), color=INK, linewidth=0.8, linestyle=":")
    axes.set_ylabel("load, queries/s")
    axes.margins(x=0.01)
    upper = float(np.quantile(test.forecast.at(0.95)[:SHOWN], 0.99))
    return max(float(truth_qps.max()), float(load.loads_qps.max()), upper)


def _broken(times_s: NDArray[np.int64], values: Floats) -> tuple[Floats, Floats]:
    """The points of a line that is not drawn across gaps."""
    apart_s = np.diff(times_s)
    gaps = np.flatnonzero(apart_s > 2 * apart_s.min(initial=DAY_S)) + 1
    return np.insert(times_s.astype(np.float64), gaps, np.nan), np.insert(values, gaps, np.nan)


def _label_time(axes: Axes) -> None:
    """Times of day, and below them dates, or days where the times count from day 0."""
    first_s, last_s = axes.get_xlim()
    apart_s = next((each for each in TICKS_S if (last_s - first_s) / each <= MOST_TICKS), TICKS_S[-1])
    axes.xaxis.set_major_locator(MultipleLocator(apart_s))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at_s, _: "\n".join(_day_and_time(at_s))))
    axes.set_xlabel("time, UTC")


def _day_and_time(at_s: float) -> tuple[str, str]:
    day, _, time = instant(at_s).removesuffix(" UTC").rpartition(" ")
    return time.removesuffix(":00"), day


def _headline(name: str, scores: Scores) -> str:
    return (
        f"{name}: RMSE {scores.rmse_qps:.1f} queries/s, SMAPE {scores.smape_pct:.1f}%, "
        f"{scores.coverage_90_pct:.0f}% of the truth within the 90% band"
    )


def _title(task: ForecastTask, test: Backtest) -> str:
    kind = {"max": "Highest", "mean": "Mean"}[task.statistic]
    lead = f", {length(task.lead_s)} ahead" if task.lead_s else ""
    shown = min(SHOWN, len(test.at))
    return (
        f"{kind} load of the next {length(task.window_s)}{lead}, drawn at the middle of its window: "
        f"{shown:,} of {len(test.at):,} forecasts, scores of all"
    )
