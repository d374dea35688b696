"""What plans are made from: the load that is there, a forecast, or the future itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.demand import DemandEstimate, MovingMaximum
from autoscaler.demand.forecast_demand import ForecastDemand
from autoscaler.demand.recent_load import RecentLoad
from benchmarks.forecast_value.parts import WARM_S, Part
from benchmarks.forecast_value.service import ENDPOINT, HORIZON_S, INTERVAL_S
from forecast.forecaster import LEVELS, Fitting, Forecast, State
from forecast.registry import make
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins
from forecast.training.task import ForecastTask

TASK = ForecastTask(context_s=600, window_s=HORIZON_S, block_s=30, memory_s=21_600, statistic="max", point="mean")
"""The most that will come until the decision after this one could have brought workers."""

FORECASTERS = ("deepar", "lstm", "feed_forward", "linear", "ewma", "moving_average", "seasonal_naive")
REACTIVE, ORACLE = "reactive", "oracle"

LEVEL = {"deepar": 0.95}
"""Of the quantile that is planned for, 0.5 where nothing is said. Where the spread of a forecaster is always the same,
a higher one is headroom by another name, and headrooms are set anyway."""

REACTIVE_WINDOW_S = 60.0
"""The reactive planner's moving maximum; it does better with this than with the 4 s that planners have by default."""


class Foretold:
    """Gives out forecasts that were made beforehand, all at once, which is quicker than one by one.

    ``quantiles``, shape ``[origins, len(LEVELS)]``, are those for origins every `INTERVAL_S` from ``begin_s`` on.
    """

    name: ClassVar[str] = "foretold"
    reach_s = least_s = 1

    def __init__(self, begin_s: int, quantiles: NDArray[np.float64]) -> None:
        self.task = TASK
        self._begin_s = begin_s
        self._quantiles = quantiles

    def fit(self, series: LoadSeries, fitting: Fitting | None = None) -> None:
        """Nothing to learn."""

    def predict(self, series: LoadSeries, at: Origins) -> Forecast:
        """See `Forecaster.predict`."""
        rows = (series.times_s[at - 1] + series.step_s - self._begin_s) // int(INTERVAL_S)
        found = self._quantiles[rows]
        return Forecast(found, found[:, len(LEVELS) // 2])

    def state(self) -> State:
        """Nothing."""
        return {}, {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> None:
        """Nothing."""


@dataclass(frozen=True, eq=False)
class Policy:
    """Plans for the ``level`` quantile of ``forecasts``, one array of quantiles per part as `Foretold` has them.

    Without forecasts it is the reactive one, which plans for the load that was.
    """

    name: str
    level: float = 0.5
    forecasts: Sequence[NDArray[np.float64]] | None = None

    def demand(self, number: int, part: Part) -> DemandEstimate:
        """The estimate of demand at the beginning of the part of that number."""
        demand: DemandEstimate
        if self.forecasts is None:
            demand = MovingMaximum(REACTIVE_WINDOW_S, endpoints=(ENDPOINT,))
        else:
            recent = RecentLoad(WARM_S, part.begin_s)
            demand = ForecastDemand(MovingMaximum(endpoints=(ENDPOINT,)), recent, self.level)
            demand.use({ENDPOINT: Foretold(part.begin_s, self.forecasts[number])})
        for second, count in enumerate(part.counts[:WARM_S].tolist(), start=-WARM_S):
            demand.on_statistics(Statistics(second, second + 1, {ENDPOINT: count}, {}))
        return demand


def oracle(series: LoadSeries, parts: Sequence[Part]) -> Policy:
    """Knows the future: every quantile is what comes."""
    return Policy(ORACLE, 0.5, [_truth(series, part) for part in parts])


def forecasts_of(
    name: str, series: LoadSeries, trained_until_s: int, parts: Sequence[Part], seed: int
) -> list[NDArray[np.float64]]:
    """Fit a forecaster to what was before an instant, and have it forecast all of each part."""
    forecaster = make(name, TASK)
    forecaster.fit(series.between(series.start_s, trained_until_s), Fitting(seed))
    return [
        forecaster.predict(series, np.searchsorted(series.times_s, origins_s(part)).astype(np.int64)).quantiles
        for part in parts
    ]


def origins_s(part: Part) -> NDArray[np.int64]:
    """When decisions are taken, in the time of the series."""
    return part.begin_s + np.arange(0, len(part.played) + 1, int(INTERVAL_S), dtype=np.int64)


def _truth(series: LoadSeries, part: Part) -> NDArray[np.float64]:
    """The highest load within the horizon of each decision; the load now where nothing was observed after it."""
    first = np.searchsorted(series.times_s, origins_s(part))
    last = np.searchsorted(series.times_s, origins_s(part) + HORIZON_S)
    most = [series.loads_qps[a:b].max() if b > a else series.loads_qps[a - 1] for a, b in zip(first, last, strict=True)]
    return np.repeat(np.array(most)[:, None], len(LEVELS), axis=1)
