"""Training data for networks that read block after block: stretches of history in which every block is an origin."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.data import IterableDataset

from catalog.errors import BadSeries
from forecast.series.series import LoadSeries
from forecast.series.windows import statistic_of
from forecast.training.features import CLOCK, LOADS, Features

CLOCK_NOISE, OTHER_NOISE = 0.4, 0.3
FEW_BLOCKS = 20_000
"""Histories of so many blocks or fewer are learned with all of the noise."""

BATCH = 64


class Stretches(NamedTuple):
    """``features``, shape ``[batch, blocks, features]``; at each of these origins the ``truth_qps`` that was to be
    forecast, shape ``[batch, blocks]``, and whether it was ``observed`` in one piece, 1 or 0.
    """

    features: torch.Tensor
    truth_qps: torch.Tensor
    observed: torch.Tensor


class StretchBatches(IterableDataset[Stretches]):
    """Batches drawn at random from a history, at whatever second they begin; the same for the same seed and epoch.

    Features come with noise, mostly on what the clock says, and less of it the longer the history is: else networks
    learn by heart what happened at which second.
    """

    def __init__(self, series: LoadSeries, features: Features, blocks: int, batches: int) -> None:
        task, step_s = features.task, series.step_s
        self._view = features.view(series)
        self._batches = batches
        self._offsets = (np.arange(blocks) - blocks + 1) * (task.block_s // step_s)
        ahead, lead = task.horizon_s // step_s, task.lead_s // step_s
        self._first = -int(self._offsets[0]) + features.reach_s // step_s
        self._end = len(series) - ahead + 1
        if self._end <= self._first:
            raise BadSeries(
                f"the series has {len(series) * step_s} s observed, but learning from stretches of {blocks} blocks of "
                f"{task.block_s} s takes {(self._first + ahead) * step_s} s; give a longer history"
            )
        self.history_blocks = len(series) * step_s // task.block_s
        self.batch_blocks = BATCH * blocks
        self._noise = np.full(features.width, OTHER_NOISE, dtype=np.float32)
        self._noise[LOADS : LOADS + CLOCK] = CLOCK_NOISE
        self._noise *= min(1.0, FEW_BLOCKS / self.history_blocks)
        self._truth_qps = statistic_of(series.loads_qps, task, ahead - lead)[lead:]
        apart_s = np.diff(series.times_s, prepend=series.times_s[0] - step_s)
        broken = np.concatenate(([0], np.cumsum(apart_s != step_s)))
        self._whole = broken[ahead:] == broken[:-ahead]
        self.seed = (0, 0)

    def __iter__(self) -> Iterator[Stretches]:
        draw = np.random.default_rng(self.seed)
        for _ in range(self._batches):
            yield self._stretches(draw)

    def _stretches(self, draw: np.random.Generator) -> Stretches:
        ends = draw.integers(self._first, self._end, BATCH)
        at = ends[:, None] + self._offsets
        seen = self._view.at(at)
        seen += self._noise * draw.standard_normal(seen.shape, dtype=np.float32)
        return Stretches(
            torch.from_numpy(seen),
            torch.from_numpy(self._truth_qps[at].astype(np.float32)),
            torch.from_numpy(self._whole[at].astype(np.float32)),
        )
