"""From a history to a model: fit on its older part, score on the newest, and write down what was done."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from catalog.errors import BadSeries, ConfigError
from forecast.artifact import Model, ModelCard
from forecast.forecaster import Fitting, silent, unsaid
from forecast.registry import make
from forecast.series.series import LoadSeries
from forecast.training.backtest import Backtest, backtest, origins_from
from forecast.training.task import ForecastTask

HOLD_OUT = 0.2


@dataclass(frozen=True, eq=False)
class TrainingRequest:
    """What to train on what.

    ``hold_out`` is the share of the steps, the newest, that the model does not learn from and is scored on, at least
    one window; 0 holds nothing out, and there are no scores. Models that train in steps keep their checkpoints under
    the folder ``checkpoint`` and go on from those of the same request. ``created_s`` is the instant to put on the
    card, ``notes`` are JSON values to put beside.
    """

    name: str
    task: ForecastTask
    series: LoadSeries
    hold_out: float = HOLD_OUT
    seed: int = 0
    checkpoint: Path | None = None
    created_s: float = 0.0
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.hold_out < 1:
            raise ConfigError(f"hold_out is {self.hold_out}; give a share of the history from 0 to below 1")
        self.task.check_step(self.series.step_s)

    @property
    def learned(self) -> LoadSeries:
        """What the model learns from; raises `BadSeries` where the part held out leaves nothing."""
        steps = len(self.series)
        held_out = self._held_out(steps)
        if held_out >= steps:
            raise BadSeries(
                f"the series has {steps} steps, and {held_out} are held out for one window to score on; give a longer "
                "one, or hold nothing out"
            )
        return self.series.slice(0, steps - held_out)

    def check_length(self, learned_s: int) -> None:
        """Raise `BadSeries` where the series is too short to leave ``learned_s`` to learn from, gaps or none."""
        learned = ceil(learned_s / self.series.step_s)
        least = learned
        while (lacking := learned + self._held_out(least) - least) > 0:
            least += lacking
        if len(self.series) < least:
            step_s, held_out = self.series.step_s, self._held_out(least)
            scored = f", of which {held_out * step_s} s are held out," if held_out else ""
            raise BadSeries(
                f"the series has {len(self.series) * step_s} s observed, which makes too few examples for {self.name}; "
                f"give at least {least * step_s} s in one piece{scored} or a shorter context or window"
            )

    def _held_out(self, steps: int) -> int:
        """How many of so many steps."""
        if not self.hold_out:
            return 0
        return max(round(steps * self.hold_out), self.task.horizon_s // self.series.step_s)

    @property
    def key(self) -> str:
        """Alike for requests that learn the same from the same."""
        learned = self.learned
        told = json.dumps([self.name, self.task.to_record(), learned.step_s, self.seed])
        digest = hashlib.sha256(told.encode())
        digest.update(learned.times_s.tobytes())
        digest.update(learned.loads_qps.tobytes())
        return digest.hexdigest()[:16]

    @property
    def checkpoints(self) -> Path | None:
        """The folder of this request's own checkpoints."""
        return None if self.checkpoint is None else self.checkpoint / f"{self.name}-{self.key}"


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted model, and what it said on the part held out; None where there is none."""

    model: Model
    held_out: Backtest | None


def train(
    request: TrainingRequest,
    report: Callable[[int, int, float], None] = silent,
    resumed: Callable[[int, int], None] = unsaid,
) -> Trained:
    """Fit and score; ``report`` and ``resumed`` are those of `Fitting`.

    Raises `BadSeries` where the history is too short, `ConfigError` for names that are not known.
    """
    series, learned = request.series, request.learned
    forecaster = make(request.name, request.task)
    request.check_length(forecaster.least_s)
    if request.hold_out:  # better known before hours of learning than after
        origins_from(series, request.task, forecaster.reach_s, learned.end_s, request.task.block_s)
    forecaster.fit(learned, Fitting(request.seed, request.checkpoints, report, resumed))
    held_out = None
    if request.hold_out:
        held_out = backtest(forecaster, series, learned.end_s, request.task.block_s)
    card = ModelCard(
        name=request.name,
        task=request.task,
        step_s=series.step_s,
        trained_from_s=learned.start_s,
        trained_until_s=learned.end_s,
        created_s=request.created_s,
        scores={} if held_out is None else held_out.scores.to_record(),
        training={"seed": request.seed, "held_out_s": series.end_s - learned.end_s if held_out else 0} | request.notes,
    )
    return Trained(Model(forecaster, card), held_out)
