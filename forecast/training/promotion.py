"""Whether a new forecaster takes the place of the one that serves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from catalog.errors import BadSeries
from forecast.forecaster import Forecast, Forecaster
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins, origins, targets
from forecast.training.residuals import ratios, spread
from forecast.training.scores import Scores, score
from forecast.training.task import ForecastTask

PEAK_S = 4
"""Without a model, what is planned for is the highest second of so many (`autoscaler.demand.demand.MovingMaximum`)."""


@dataclass(frozen=True)
class Verdict:
    """How good each was at the same origins of a window that the candidate did not learn from.

    The instants of the window are seconds since the epoch. ``simple`` is `recent_peak`; ``incumbent`` is None where no
    model served.
    """

    from_s: int
    until_s: int
    candidate: Scores
    simple: Scores
    incumbent: Scores | None

    @property
    def promoted(self) -> bool:
        """Whether the candidate was better than all others, by pinball loss; being as good is not enough."""
        others = (self.simple, self.incumbent) if self.incumbent is not None else (self.simple,)
        return all(self.candidate.pinball_qps < other.pinball_qps for other in others)

    @property
    def words(self) -> str:
        """For people."""
        losses = [
            f"{self.candidate.pinball_qps:.3g} of the new model",
            f"{self.simple.pinball_qps:.3g} of recent peaks",
        ]
        if self.incumbent is not None:
            losses.append(f"{self.incumbent.pinball_qps:.3g} of the model that serves")
        better = "better" if self.promoted else "no better"
        return f"the new model was {better}: pinball loss {', '.join(losses)}"

    def to_record(self) -> dict[str, Any]:
        """The scores as JSON values, by who had them."""
        found = {"candidate": self.candidate.to_record(), "simple": self.simple.to_record()}
        return found if self.incumbent is None else found | {"incumbent": self.incumbent.to_record()}


def judge(candidate: Forecaster, incumbent: Forecaster | None, series: LoadSeries, from_s: int) -> Verdict:
    """Compare forecasts of the candidate's task from ``from_s`` to the end of the series.

    The candidate must not have learned from what came after ``from_s``; an incumbent that did is at an advantage.
    Where the incumbent was made for a longer horizon, it is measured against the shorter one all the same: that is what
    would be planned with. Raises `BadSeries` where there is no origin to compare at.
    """
    task = candidate.task
    reach_s = max(task.context_s, candidate.reach_s, 0 if incumbent is None else incumbent.reach_s)
    at = origins(series, task, reach_s, task.block_s)
    at = at[at >= series.position(from_s)]
    if not len(at):
        raise BadSeries(
            f"there is no origin from {from_s} to {series.end_s} s with {reach_s} s known before it and "
            f"{task.horizon_s} s in one piece after it; give a longer window to compare forecasts in"
        )
    truth_qps = targets(series, task, at)
    learned = series.slice(0, series.position(from_s))
    return Verdict(
        from_s,
        series.end_s,
        score(candidate.predict(series, at), truth_qps),
        score(recent_peak(learned, series, task, at), truth_qps),
        None if incumbent is None else score(incumbent.predict(series, at), truth_qps),
    )


def recent_peak(learned: LoadSeries, series: LoadSeries, task: ForecastTask, at: Origins) -> Forecast:
    """What serves without a model, as a forecast: the highest second of the last `PEAK_S` before each origin.

    Its quantiles are as far from that as the truth was on ``learned``.
    """
    found = origins(learned, task, task.context_s, task.block_s)
    off = ratios(targets(learned, task, found), _peaks_qps(learned, found))
    return spread(_peaks_qps(series, at), off)


def _peaks_qps(series: LoadSeries, at: Origins) -> NDArray[np.float64]:
    length = max(1, PEAK_S // series.step_s)
    peaks_qps: NDArray[np.float64] = sliding_window_view(series.loads_qps, length).max(axis=1)[at - length]
    return peaks_qps
