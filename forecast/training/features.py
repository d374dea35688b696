"""What networks see of a history at an origin."""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from forecast.series.series import DAY_S, LoadSeries
from forecast.series.windows import Origins
from forecast.training.task import ForecastTask

HOUR_S = 3600
HARMONICS_OF_HOUR = 6
"""Scheduled work begins on the hour and its parts, so that the clock must be seen to a few minutes."""

HARMONICS_OF_AGE = 1

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
    and, if the task remembers surges, the time within two hours, and how long ago the last one, above ``surge_qps``,
    began and ended.
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
        return LOADS + CLOCK + (4 + 4 * HARMONICS_OF_AGE if self.task.memory_s else 0)

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
        self._surges = self._surge_positions() if features.task.memory_s else None

    def at(self, positions: Origins) -> Floats:
        """Shape ``[..., features]`` for positions ``[...]``, each at least a block and at most the series' length."""
        known = self._features.scaled
        block = self._blocks[positions - self._length]
        mean = block.mean(axis=-1)
        newest_s = self._series.times_s[positions - 1]
        begins_s = newest_s + self._series.step_s + self._features.task.lead_s
        columns = [
            2 * known(mean),
            2 * known(block.max(axis=-1)),
            block.std(axis=-1) / (3 * np.sqrt(mean + 1)),
            2 * known(block[..., -1]),
            *self._waves(begins_s / DAY_S),
            *(each for part in range(1, HARMONICS_OF_HOUR + 1) for each in self._waves(begins_s * part / HOUR_S)),
        ]
        if self._surges is not None:
            columns += self._waves(begins_s / (2 * HOUR_S))
            for surges in self._surges:
                columns += self._age(surges, positions, newest_s)
        return np.stack(columns, axis=-1).astype(np.float32)

    @staticmethod
    def _waves(turns: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Where on a circle."""
        return [wave(2 * np.pi * (turns % 1)) for wave in (np.sin, np.cos)]

    def _surge_positions(self) -> tuple[Origins, Origins]:
        """The positions of all steps of surges, and of those with which surges began, ascending."""
        length = self._length
        sums = np.concatenate(([0.0], np.cumsum(self._series.loads_qps)))
        surging = sums[length:] - sums[:-length] > length * self._features.surge_qps
        began = surging[1:] & ~surging[:-1]  # of what is known: an older beginning is none
        return np.flatnonzero(surging) + length - 1, np.flatnonzero(began) + length

    def _age(self, surges: Origins, positions: Origins, newest_s: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Hours since the newest of these, and where in their hour they are; what is forgotten is nowhere."""
        memory_s = self._features.task.memory_s
        before = np.searchsorted(surges, positions)
        newest = np.append(self._series.times_s[surges], newest_s.min() - memory_s)[before - 1]
        age_s = np.where(before > 0, np.minimum(newest_s - newest, memory_s), memory_s)
        known = age_s < memory_s
        where = [known * wave for part in range(1, HARMONICS_OF_AGE + 1) for wave in self._waves(age_s * part / HOUR_S)]
        return [age_s / HOUR_S, *where]
