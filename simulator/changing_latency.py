"""Latency that changes while a simulation runs: a worker slows down, the way to all of them gets longer."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from dispatch.query import Batch
from simulator.latency import LatencyModel


@dataclass(frozen=True)
class LatencyChange:
    """From ``at_s`` on, runs take ``run_factor`` times as long on ``worker`` (None: on all), and the way ``path_s``."""

    at_s: float
    run_factor: float = 1.0
    path_s: float = 0.0
    worker: str | None = None


class ChangingLatency:
    """Another model's runs under changes, of which the last that has come for a worker holds; its own way before the
    first.

    Runs and way vary by lognormal factors of mean 1 with these standard deviations of the logarithm.
    """

    def __init__(
        self,
        model: LatencyModel,
        changes: Sequence[LatencyChange],
        rng: np.random.Generator,
        run_sigma: float = 0.0,
        path_sigma: float = 0.0,
    ) -> None:
        self._model = model
        self._changes = sorted(changes, key=lambda change: change.at_s)
        self._rng = rng
        self._run_sigma = run_sigma
        self._path_sigma = path_sigma

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        """As the model has it, under the change in force when the batch was launched."""
        run_s, path_s = self._model.times_s(device, batch)
        run_factor = 1.0
        for change in self._changes:
            if change.at_s <= batch.launched_s and change.worker in (None, batch.worker):
                run_factor, path_s = change.run_factor, change.path_s
        return run_s * run_factor * self._factor(self._run_sigma), path_s * self._factor(self._path_sigma)

    def _factor(self, sigma: float) -> float:
        return exp(self._rng.normal(-sigma * sigma / 2.0, sigma)) if sigma else 1.0
