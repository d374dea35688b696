"""What every forecaster can do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from forecast.series.series import LoadSeries
from forecast.series.windows import Origins
from forecast.training.task import ForecastTask

LEVELS = np.array([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99])
"""The levels of every forecast; read-only."""
LEVELS.setflags(write=False)

State = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""What a fitted model has learned: arrays by name, and JSON values by name."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is forecast at each origin, in queries per second and at least 0.

    ``quantiles`` has shape ``[origins, len(LEVELS)]``, ascending along the levels; ``point`` has shape ``[origins]``.
    """

    quantiles: NDArray[np.float64]
    point: NDArray[np.float64]

    def at(self, level: float) -> NDArray[np.float64]:
        """The quantile of a level, shape ``[origins]``, between those of LEVELS by linear interpolation.

        Levels beyond the first and the last of LEVELS count as these.
        """
        place = float(np.interp(level, LEVELS, np.arange(len(LEVELS))))
        low = min(int(place), len(LEVELS) - 2)
        share = place - low
        between: NDArray[np.float64] = (1 - share) * self.quantiles[:, low] + share * self.quantiles[:, low + 1]
        return between


def silent(done: int, total: int, loss: float) -> None:
    """Reports no progress."""


def unsaid(done: int, total: int) -> None:
    """Does not say where a fit goes on."""


@dataclass(frozen=True)
class Fitting:
    """How a fit is run.

    ``report`` is called now and then with the steps done, the steps in all and the training loss. Where ``checkpoint``
    names a folder, models that train in steps save there as they go, and a fit that finds a checkpoint of the same
    model and data goes on from it: ``resumed`` is called first, with the steps of the checkpoint and those in all, also
    where none is left. ``seed`` makes it repeatable.
    """

    seed: int = 0
    checkpoint: Path | None = None
    report: Callable[[int, int, float], None] = field(default=silent)
    resumed: Callable[[int, int], None] = field(default=unsaid)


class Forecaster(Protocol):
    """Forecasts one task; made by `forecast.registry`.

    ``reach_s`` is how much of the observed history before an origin it looks at, ``least_s`` how long a history in one
    piece it can learn from. Nothing after an origin is ever looked at, so that a series may be longer than what is
    known.
    """

    name: ClassVar[str]
    task: ForecastTask

    @property
    def reach_s(self) -> int: ...

    @property
    def least_s(self) -> int: ...

    def fit(self, series: LoadSeries, fitting: Fitting = ...) -> None:
        """Learn from a history, gaps and all; a second fit begins anew.

        Raises `BadSeries` where the history is too short. A constant load is learned as such.
        """
        ...

    def predict(self, series: LoadSeries, at: Origins) -> Forecast:
        """The forecast at each origin, positions of ``series``, with ``reach_s`` of steps before each.

        Raises `BadSeries` where there is less, `NotFitted` before `fit`.
        """
        ...

    def state(self) -> State:
        """What was learned, for `restore`."""
        ...

    def restore(self, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> None:
        """Be as the one that gave this state."""
        ...
