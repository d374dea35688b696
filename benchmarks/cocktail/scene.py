"""What a process needs to play any system on any part."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.cocktail.load import Part, load_series, part_of, spot_prices
from benchmarks.cocktail.models import MODELS
from benchmarks.cocktail.validation import Validation
from benchmarks.cocktail.votes.class_accuracy import ClassAccuracy, read_class_accuracy, synthetic_class_accuracy
from benchmarks.cocktail.votes.drawn_votes import draw_votes
from benchmarks.cocktail.workload import Workload, workload_of
from catalog.errors import ConfigError
from catalog.votes import RecordedVotes
from dispatch.ensemble.weights import ClassWeights
from forecast.forecaster import Fitting, Forecaster
from forecast.registry import make
from forecast.series.series import DAY_S, LoadSeries
from forecast.training.task import ForecastTask
from simulator.pools.spot_market import PriceSeries

CLASSES = 1000

LEARNED_ROWS, VALIDATED_ROWS, PLAYED_ROWS = 100_000, 60_000, 40_000
"""Images that weights are learned from, that sets are validated on, and that queries are about."""

HORIZON_S = 160
"""A machine takes up to 100 s to come, and the next plan up to 60 s."""

TASK = ForecastTask(context_s=600, window_s=HORIZON_S, block_s=20, memory_s=3600, statistic="max", point="mean")

FORECASTER = "linear"
"""The same for all systems: it is fitted in a second."""

FIT_DAYS = 3

TUNED_HOUR, TUNED_S = 9, 1200
"""Settings are tuned on a third of this hour of the day before the one that is reported."""

REPORTED_HOURS = (0, 6, 12)
"""Of the reported day, one for each seed in turn."""


@dataclass(frozen=True)
class Inputs:
    """Files, synthetic data where there is none; ``lost_per_h`` of spot machines are taken away in an hour."""

    series: Path | None = None
    prices: Path | None = None
    class_accuracy: Path | None = None
    correlation: float = 0.6
    lost_per_h: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class Scene:
    """Everything is made when it is first asked for, and the same for the same inputs."""

    inputs: Inputs

    @cached_property
    def accuracy(self) -> ClassAccuracy:
        """By class as the file has it, and in the mean as Table 1 has it."""
        means = {model.name: model.accuracy for model in MODELS.values()}
        path = self.inputs.class_accuracy
        if path is None:
            return synthetic_class_accuracy(means, CLASSES, self.inputs.seed)
        return read_class_accuracy(path).at(means)

    @cached_property
    def votes(self) -> tuple[RecordedVotes, RecordedVotes, RecordedVotes]:
        """To learn from, to validate on, and to play."""
        ends = np.cumsum([0, LEARNED_ROWS, VALIDATED_ROWS, PLAYED_ROWS])
        drawn = draw_votes(self.accuracy, int(ends[-1]), self.inputs.seed, self.inputs.correlation)
        first, second, third = (drawn.take(np.arange(a, b)) for a, b in itertools.pairwise(ends))
        return first, second, third

    @cached_property
    def weights(self) -> ClassWeights:
        """Of all members."""
        return ClassWeights.learned(self.votes[0])

    def validation(self) -> Validation:
        """Votes for choosing sets."""
        return Validation(self.votes[1], self.weights)

    @cached_property
    def series(self) -> LoadSeries:
        """All of the load."""
        return load_series(self.inputs.series, self.inputs.seed)

    @cached_property
    def prices(self) -> list[PriceSeries]:
        """Of spot machines, by size."""
        return spot_prices(self.inputs.prices, self.inputs.seed)

    def tuned(self, mix: str) -> Workload:
        """What settings are tuned on."""
        return self._workload(self._day - 1, TUNED_HOUR, TUNED_S, mix, 0)

    def reported(self, mix: str, seed: int) -> Workload:
        """What is reported under a seed."""
        hour = REPORTED_HOURS[seed % len(REPORTED_HOURS)]
        return self._workload(self._day, hour, 3600, mix, seed)

    def forecaster(self, part: Part) -> Forecaster:
        """Fitted to the days before the one that settings are tuned on, as the part is scaled."""
        until_s = (self._day - 1) * DAY_S
        if self.series.start_s >= until_s:
            raise ConfigError("the series has no day before the last two whole ones to learn from; give a longer one")
        before = self.series.between(until_s - FIT_DAYS * DAY_S, until_s)
        scaled = LoadSeries(before.times_s, before.loads_qps * part.scale)
        forecaster = make(FORECASTER, TASK)
        forecaster.fit(scaled, Fitting(self.inputs.seed))
        return forecaster

    @property
    def _day(self) -> int:
        """The last whole one."""
        return self.series.end_s // DAY_S - 1

    def _workload(self, day: int, hour: int, length_s: int, mix: str, seed: int) -> Workload:
        part = part_of(self.series, day * DAY_S + hour * 3600, length_s)
        return workload_of(part, mix, self.votes[2], self.prices, self.inputs.lost_per_h, self.inputs.seed + seed)


SCENES: dict[Inputs, Scene] = {}


def scene_of(inputs: Inputs) -> Scene:
    """The scene of this process."""
    return SCENES.setdefault(inputs, Scene(inputs))
