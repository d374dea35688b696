"""How good forecasts were. Symbols: y truth, f point forecast, q_p quantile of level p; means are over origins."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from catalog.errors import BadSeries
from forecast.forecaster import LEVELS, Forecast

LOW_90, HIGH_90 = 0.05, 0.95


@dataclass(frozen=True)
class Scores:
    """``rmse_qps`` is the root of mean (f - y)^2; ``smape_pct`` is 100 mean |f - y| / ((|f| + |y|) / 2), in which 0
    for 0 counts as right. ``pinball_qps`` is the mean over origins and levels of max(p (y - q_p), (p - 1) (y - q_p)).
    ``coverage_90_pct`` is how often y lay within [q_0.05, q_0.95], ``width_90_qps`` their mean distance.
    """

    origins: int
    rmse_qps: float
    smape_pct: float
    pinball_qps: float
    coverage_90_pct: float
    width_90_qps: float

    def to_record(self) -> dict[str, float]:
        """As JSON values."""
        return asdict(self)


def score(forecast: Forecast, truth_qps: NDArray[np.float64]) -> Scores:
    """Compare with what came, shape ``[origins]``; raises `BadSeries` where there is nothing to compare."""
    if not len(truth_qps):
        raise BadSeries("there is no origin to score a forecast at; give a longer series to test on")
    error = forecast.point - truth_qps
    size = (np.abs(forecast.point) + np.abs(truth_qps)) / 2
    relative = np.divide(np.abs(error), size, out=np.zeros_like(size), where=size > 0)
    low, high = forecast.at(LOW_90), forecast.at(HIGH_90)
    over = truth_qps[:, None] - forecast.quantiles
    return Scores(
        origins=len(truth_qps),
        rmse_qps=float(np.sqrt(np.mean(error**2))),
        smape_pct=float(100 * relative.mean()),
        pinball_qps=float(np.maximum(LEVELS * over, (LEVELS - 1) * over).mean()),
        coverage_90_pct=float(100 * np.mean((low <= truth_qps) & (truth_qps <= high))),
        width_90_qps=float(np.mean(high - low)),
    )
