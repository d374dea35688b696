"""The load that is played, and what machines cost meanwhile."""

import csv
from dataclasses import dataclass
from math import tau
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.cocktail.models import MACHINES
from benchmarks.recorded_load import read_recorded
from catalog.errors import ConfigError
from forecast.series.series import DAY_S, LoadSeries
from simulator.pools.spot_market import HOUR_S, PriceSeries

Floats = NDArray[np.float64]

MEAN_QPS = 50.0
"""Of every hour that is played (section 5.2)."""

WARM_S = 3600
"""What forecasters have seen before a part begins."""

LEAST_QUERIES = 100
"""A part has so many on average at least: percentiles of fewer say nothing, and by chance there may be none at all."""

SYNTHETIC_DAYS = 5
SYNTHETIC_HOURS = 336

SPOT_LEVELS = (0.048, 0.063, 0.083, 0.173)
"""Means of the prices per hour that the paper's appendix F plots, by size."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a series, scaled so that the hour that it is of has `MEAN_QPS`.

    ``series`` begins `WARM_S` before the part, which begins at ``begin_s`` of the series' clock and has ``length_s``;
    it has ``scale`` times the load.
    """

    series: LoadSeries
    scale: float
    begin_s: int
    length_s: int

    @property
    def rates_qps(self) -> Floats:
        """Second by second of the part; where nothing was observed, the rate before."""
        at = np.searchsorted(self.series.times_s, self.begin_s + np.arange(self.length_s), side="right") - 1
        return self.series.loads_qps[np.maximum(at, 0)]

    def arrivals_s(self, rng: np.random.Generator) -> Floats:
        """Poisson arrivals at these rates, ascending from 0."""
        counts = rng.poisson(self.rates_qps)
        return np.sort(np.repeat(np.arange(self.length_s), counts) + rng.random(counts.sum()))


def part_of(series: LoadSeries, begin_s: int, length_s: int) -> Part:
    """A part of the hour that begins at ``begin_s``.

    Raises `ConfigError` where the series does not have it, or next to no load in it.
    """
    hour_qps = series.loads_qps[series.position(begin_s) : series.position(begin_s + HOUR_S)]
    if begin_s - WARM_S < series.start_s or len(hour_qps) < HOUR_S / 2 or not hour_qps.any():
        raise ConfigError(f"the series has no load from {begin_s - WARM_S} s on for two hours; give a longer one")
    scale = MEAN_QPS / float(hour_qps.mean())
    near = series.between(begin_s - WARM_S, begin_s + length_s)
    part = Part(LoadSeries(near.times_s, near.loads_qps * scale), scale, begin_s, length_s)
    if (queries := float(part.rates_qps.sum())) < LEAST_QUERIES:
        raise ConfigError(
            f"the series has next to no load from {_clock(begin_s)} to {_clock(begin_s + length_s)}, {begin_s} s of "
            f"its time on: {queries:.0f} queries where the hour has {MEAN_QPS:g}/s; give one with load in these minutes"
        )
    return part


def _clock(at_s: int) -> str:
    return f"{at_s % DAY_S // 3600:02}:{at_s % 3600 // 60:02}"


def load_series(path: Path | None, seed: int) -> LoadSeries:
    """The file's, or days with a tide, noise that lasts for minutes, and bursts of up to four times the load."""
    if path is not None:
        return read_recorded(str(path))[0]
    rng = np.random.default_rng(seed)
    seconds = np.arange(SYNTHETIC_DAYS * DAY_S)
    tide = 1.0 + 0.4 * np.sin(tau * seconds / DAY_S)
    slow = np.repeat(rng.normal(0.0, 0.08, len(seconds) // 60), 60)
    bursts = np.zeros(len(seconds))
    for begin in rng.integers(len(seconds), size=SYNTHETIC_DAYS * 30):
        length = int(rng.integers(60, 600))
        rise = np.minimum(np.arange(length) / 15.0, 1.0) * np.exp(-np.arange(length) / length * 3)
        stop = min(begin + length, len(seconds))
        bursts[begin:stop] += (rng.uniform(0.5, 3.0) * rise)[: stop - begin]
    rates = MEAN_QPS * tide * np.exp(slow) * (1.0 + bursts)
    return LoadSeries.regular(rng.poisson(rates).astype(np.float64))


def spot_prices(path: Path | None, seed: int) -> list[PriceSeries]:
    """By machine, hour by hour: the columns spot1 to spot4 of a CSV, or synthetic ones around `SPOT_LEVELS`."""
    if path is None:
        rng = np.random.default_rng(seed)
        at_s = HOUR_S * np.arange(SYNTHETIC_HOURS, dtype=np.float64)
        steps = rng.choice([-0.005, 0.0, 0.0, 0.005], size=(len(SPOT_LEVELS), SYNTHETIC_HOURS))
        return [PriceSeries(at_s, level + own) for level, own in zip(SPOT_LEVELS, steps, strict=True)]
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        at_s = HOUR_S * np.arange(len(rows), dtype=np.float64)
        return [
            PriceSeries(at_s, np.array([float(row[f"spot{number}"] or "") for row in rows]))
            for number in range(1, len(MACHINES) + 1)
        ]
    except (OSError, KeyError, ValueError, csv.Error, ConfigError) as error:
        raise ConfigError(f"cannot read prices {path}: {error}; give a CSV with time, spot1, ... spot4") from error


def shifted(prices: PriceSeries, by_s: float) -> PriceSeries:
    """The same prices on a clock that is 0 at ``by_s`` of theirs."""
    return PriceSeries(prices.at_s - by_s, prices.per_h)
