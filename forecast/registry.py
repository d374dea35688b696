"""Forecasters by name."""

from catalog.errors import ConfigError
from catalog.extras import require
from forecast.forecaster import Forecaster
from forecast.training.task import ForecastTask

NAMES = (
    "constant",
    "deepar",
    "ewma",
    "feed_forward",
    "linear",
    "logistic",
    "lstm",
    "moving_average",
    "seasonal_naive",
    "trend",
)

NETWORKS = ("deepar", "lstm")


def make(name: str, task: ForecastTask) -> Forecaster:
    """A forecaster that has learned nothing yet; raises `ConfigError` for a name that is not in NAMES.

    Modules are imported when asked for, since those with networks take seconds.
    """
    if name in NETWORKS:
        require("forecast", f"forecaster {name!r}")
    if name == "deepar":
        from forecast.models.deepar import DeepAR

        return DeepAR(task)
    if name == "lstm":
        from forecast.models.lstm import LSTM

        return LSTM(task)
    if name == "feed_forward":
        from forecast.models.feed_forward import FeedForward

        return FeedForward(task)
    if name in ("linear", "logistic"):
        from forecast.models.regressions import Linear, Logistic

        return Linear(task) if name == "linear" else Logistic(task)
    if name in ("ewma", "moving_average", "trend"):
        from forecast.models.averages import EWMA, MovingAverage, Trend

        return {"ewma": EWMA, "moving_average": MovingAverage, "trend": Trend}[name](task)
    if name == "seasonal_naive":
        from forecast.models.seasonal_naive import SeasonalNaive

        return SeasonalNaive(task)
    if name == "constant":
        from forecast.models.constant import Constant

        return Constant(task)
    raise ConfigError(f"forecaster {name!r} is not known; known are {', '.join(NAMES)}")
