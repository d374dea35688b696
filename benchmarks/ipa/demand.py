"""What plans are made for: the load that is there, or the one that is foreseen."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.demand import MovingMaximum
from benchmarks.ipa.excerpts import LEAD_S, MEAN_S, WARM_S, Excerpt
from forecast.forecaster import Fitting, Forecaster
from forecast.registry import make
from forecast.series.series import DAY_S, LoadSeries
from forecast.training.task import ForecastTask

INTERVAL_S = 10
"""Between two plans (section 5.3)."""

TASK = ForecastTask()
"""The predictor of section 3: the maximum of the next 20 s from the last 120 s, by an LSTM of 25 units."""

QUANTILE = 0.95
"""Of the forecast, that is planned for: what is exceeded once in twenty plans."""

LEARNED_S = 14 * DAY_S
"""The newest part of what may be learned from: the paper's two weeks."""


@dataclass(frozen=True, eq=False)
class Scene:
    """An excerpt with what is foreseen of it: ``forecasts_qps`` has one for every `INTERVAL_S` from its lead on."""

    excerpt: Excerpt
    forecasts_qps: NDArray[np.float64]

    def demand(self, endpoint: str, *, predictive: bool = True) -> "KnownDemand":
        """The estimate when the lead begins."""
        demand = KnownDemand(endpoint, self.forecasts_qps if predictive else None)
        for second, count in enumerate(self.excerpt.counts[:WARM_S].tolist(), start=-WARM_S):
            demand.on_statistics(Statistics(second, second + 1, {endpoint: count}, {}))
        return demand

    def loads_qps(self, *, predictive: bool = True) -> list[float]:
        """What plans are made for from the beginning of the excerpt itself on."""
        demand, found = self.demand("", predictive=predictive), []
        for second, count in enumerate(self.excerpt.played.tolist()):
            if second % INTERVAL_S == 0 and second >= LEAD_S:
                found.append(demand.demand_qps()[""])
            demand.on_statistics(Statistics(second, second + 1, {"": count}, {}))
        return found


class KnownDemand:
    """The load of the last 10 s, that of its highest second; with forecasts, no less than those.

    A forecast is of the highest second of those to come.
    """

    def __init__(self, endpoint: str, forecasts_qps: NDArray[np.float64] | None) -> None:
        self._endpoint = endpoint
        self._forecasts_qps = forecasts_qps
        self._now = MovingMaximum(MEAN_S, endpoints=(endpoint,))
        self._known_s = 0.0

    def on_statistics(self, statistics: Statistics) -> None:
        """See `DemandEstimate.on_statistics`."""
        self._now.on_statistics(statistics)
        self._known_s = statistics.end_s

    def demand_qps(self) -> Mapping[str, float]:
        """See `DemandEstimate.demand_qps`."""
        load_qps = self._now.demand_qps()[self._endpoint]
        if self._forecasts_qps is not None:
            number = int(self._known_s // INTERVAL_S)
            load_qps = max(load_qps, float(self._forecasts_qps[min(number, len(self._forecasts_qps) - 1)]))
        return {self._endpoint: load_qps}


def learned(series: LoadSeries, scale: float, until_s: int, seed: int) -> Forecaster:
    """The predictor, from the newest days before an instant, of the load as it is scaled."""
    known = series.between(max(series.start_s, until_s - LEARNED_S), until_s)
    forecaster = make("lstm", TASK)
    forecaster.fit(LoadSeries(known.times_s, scale * known.loads_qps), Fitting(seed))
    return forecaster


def scene_of(excerpt: Excerpt, series: LoadSeries, scale: float, forecaster: Forecaster) -> Scene:
    """With the forecast at every instant at which a plan is made."""
    begin_s = excerpt.begin_s
    near = series.between(begin_s - 2 * forecaster.reach_s - 600, begin_s + len(excerpt.played))
    scaled = LoadSeries(near.times_s, scale * near.loads_qps)
    origins_s = begin_s + np.arange(0, len(excerpt.played) + 1, INTERVAL_S)
    origins = np.searchsorted(scaled.times_s, origins_s).astype(np.int64)
    return Scene(excerpt, forecaster.predict(scaled, origins).at(QUANTILE))
