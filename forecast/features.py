"""What networks see of a history at an origin."""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from forecast.models.seasonal_naive import DAY_S
from forecast.series import LoadSeries
from forecast.task import ForecastTask
from forecast.windows import Origins

HOUR_S = 3600
HARMONICS_OF_HOUR = 6
"""Scheduled work begins on the hour and its parts, so that the clock must be seen to a few minutes."""

HARMONICS_OF_AGE = 3

SURGE_FACTOR = 1.8
"""A load counts as a surge while its mean over a block is so many times the middle of all loads."""

LOADS = 4
CLOCK = 2 + 2 * HARMONICS_OF_HOUR
"""So many of the features are loads, the first ones, and after them what the clock says."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Features:
    """Turns positions of a series into numbers of about -3 to 3, from what is known there.

    They are: mean, maximum, spread and newest load of the block before the origin, on a logarithmic scale around
    ``level``, the mean of the logarithm of (load + 1); the time of the day and of the hour at which the window begins;
    and, if the task remembers surges, how long ago the last one, above ``surge_qps``, began and ended.
    """

    task: ForecastTask
    level: float
    surge_qps: float

    @classmethod
    def of(cls, series: LoadSeries, task: ForecastTask) -> "Features":
        """Those for a history."""
        level = float(np.log1p(series.loads_qps).mean())
        return cls(task, level, SURGE_FACTOR * max(float(np.median(series.loads_qps)), 1.0))

    @property
    def width(self) -> int:
        """Numbers per position."""
        return LOADS + CLOCK + (2 + 4 * HARMONICS_OF_AGE if self.task.memory_s else 0)

    @property
    def reach_s(self) -> int:
        """So much history before a position has an influence."""
        return self.task.block_s + (self.task.memory_s + self.task.block_s if self.task.memory_s else 0)

    def scaled(self, loads_qps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loads on the logarithmic scale."""
        scaled: NDArray[np.float64] = np.log1p(loads_qps) - self.level
        return scaled

    def view(self, series: LoadSeries) -> "View":
        """Look at one series, many times."""
        return View(self, series)


class View:
    """One series through `Features`."""

    def __init__(self, features: Features, series: LoadSeries) -> None:
        self._features = features
        self._series = series
        length = features.task.block_s // series.step_s
        self._length = length
        self._blocks = sliding_window_view(series.loads_qps, length)
        self._surges = self._surge_instants() if features.task.memory_s else None

    def at(self, positions: Origins) -> Floats:
        """Shape ``[..., features]`` for positions ``[...]``, each at least a block and at most the series' length."""
        known = self._features.scaled
        block = self._blocks[positions - self._length]
        mean = block.mean(axis=-1)
        newest_s = self._series.times_s[positions - 1]
        columns = [
            2 * known(mean),
            2 * known(block.max(axis=-1)),
            block.std(axis=-1) / (3 * np.sqrt(mean + 1)),
            2 * known(block[..., -1]),
            *self._clock(newest_s + self._series.step_s + self._features.task.lead_s),
        ]
        if self._surges is not None:
            for instants in self._surges:
                columns += self._age(instants, positions, newest_s)
        return np.stack(columns, axis=-1).astype(np.float32)

    def _clock(self, at_s: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        turns = [at_s % DAY_S / DAY_S]
        turns += [at_s % HOUR_S / HOUR_S * harmonic for harmonic in range(1, HARMONICS_OF_HOUR + 1)]
        return [wave(2 * np.pi * turn) for turn in turns for wave in (np.sin, np.cos)]

    def _surge_instants(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By position, when the newest step of a surge was, and when the newest surge began; -inf before any."""
        loads, times = self._series.loads_qps, self._series.times_s
        length = self._length
        sums = np.concatenate((np.zeros(length), np.cumsum(loads)))
        surging = (sums[length:] - sums[:-length]) / length > self._features.surge_qps
        begins = surging.copy()
        begins[1:] &= ~surging[:-1]
        begins[: length - 1] = False  # too little is known there to say
        surging[: length - 1] = False
        newest, began = (np.maximum.accumulate(np.where(which, times, -np.inf)) for which in (surging, begins))
        return newest, began

    def _age(
        self, instants: NDArray[np.float64], positions: Origins, newest_s: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        """Hours, and where in their hour they are; what is forgotten is nowhere."""
        age_s = np.minimum(newest_s - instants[positions - 1], self._features.task.memory_s)
        known = age_s < self._features.task.memory_s
        turns = [age_s / HOUR_S * harmonic for harmonic in range(1, HARMONICS_OF_AGE + 1)]
        waves = [wave(2 * np.pi * turn) * known for turn in turns for wave in (np.sin, np.cos)]
        return [age_s / HOUR_S, *waves]
