"""The load to plan for, from forecasts."""

from collections.abc import Mapping

import numpy as np

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.demand import DemandEstimate
from autoscaler.demand.recent_load import RecentLoad
from forecast.forecaster import Forecaster
from forecast.series.series import DAY_S


class ForecastDemand:
    """The ``level`` quantile of each endpoint's load over the horizon, and never less than the load that is there.

    ``now`` says what the load is; endpoints without a forecaster, or with too little history for theirs, have that
    alone. So do those whose forecaster raised or gave what is no load, until there are others to `use`. Forecasts are
    made anew when another second is over. ``recent`` must reach back as far as every forecaster looks.

    Forecasters are given a day of observed seconds, or their ``reach_s`` where that is more, as far as ``recent`` has
    them: ``reach_s`` is the least that they need, and the seasonal one looks up the day before where that is known.
    """

    def __init__(self, now: DemandEstimate, recent: RecentLoad, level: float) -> None:
        self._now = now
        self._recent = recent
        self._level = level
        self._forecasters: Mapping[str, Forecaster] = {}
        self._made_s: int | None = None
        self.forecast_qps: dict[str, float] = {}
        """What the forecasters said last, by endpoint."""
        self.failed: dict[str, str] = {}
        """What went wrong with forecasters that are not asked any more, by endpoint."""

    def use(self, forecasters: Mapping[str, Forecaster], level: float | None = None) -> None:
        """Forecast with these from now on, by endpoint, and at this level where one is given."""
        self._forecasters = dict(forecasters)
        self._level = self._level if level is None else level
        self._made_s = None
        self.forecast_qps, self.failed = {}, {}

    def on_statistics(self, statistics: Statistics) -> None:
        """See `DemandEstimate.on_statistics`."""
        self._now.on_statistics(statistics)
        self._recent.on_statistics(statistics)

    def demand_qps(self) -> dict[str, float]:
        """See `DemandEstimate.demand_qps`."""
        if self._made_s != self._recent.known_until_s:
            self._made_s = self._recent.known_until_s
            asked = {name: each for name, each in self._forecasters.items() if name not in self.failed}
            made = {name: self._forecast(name, forecaster) for name, forecaster in asked.items()}
            self.forecast_qps = {name: qps for name, qps in made.items() if qps is not None}
        now = self._now.demand_qps()
        return {name: max(qps, self.forecast_qps.get(name, 0.0)) for name, qps in now.items()}

    def _forecast(self, endpoint: str, forecaster: Forecaster) -> float | None:
        series = self._recent.series(endpoint, max(forecaster.reach_s, DAY_S))
        if series is None or len(series) * series.step_s < forecaster.reach_s:
            return None
        try:
            qps = float(forecaster.predict(series, np.array([len(series)])).at(self._level)[0])
        except Exception as error:  # planning goes on without it, whatever it was
            self.failed[endpoint] = f"{type(error).__name__}: {error}"
            return None
        if not np.isfinite(qps):
            self.failed[endpoint] = f"it forecast a load of {qps}"
            return None
        return qps
