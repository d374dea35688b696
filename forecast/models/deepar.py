"""DeepAR (Salinas et al. 2020), by GluonTS, as Cocktail uses it (section 4.2.2, appendix B)."""

import warnings
from collections.abc import Mapping
from math import ceil
from typing import Any, ClassVar

import numpy as np
import torch
from gluonts.torch.model.deepar.module import DeepARModel
from numpy.typing import NDArray

from forecast.forecaster import LEVELS, Fitting, Forecast, State
from forecast.models.load_mixture import LoadMixture, Mixtures, mean_of_exp
from forecast.models.point_model import check_reach, not_fitted
from forecast.models.sequence_model import AT_ONCE, arrays_of, fitted, read, sequence_reach_s, stretch, take_arrays
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins, statistic_of
from forecast.training.features import Features
from forecast.training.sequences import Stretches
from forecast.training.task import ForecastTask

# GluonTS 0.17 cuts tensors in a way that torch 2.13 warns of once
warnings.filterwarnings("ignore", "Using a non-tuple sequence", UserWarning, r"gluonts\.torch\.util")

CELLS = 40
LAYERS = 1
DROPOUT = 0.3
LAGS = 1
MEMBERS = 2
"""So many networks learn side by side and are believed equally: a deep ensemble (Lakshminarayanan et al. 2017)."""

MEDIAN = int(np.flatnonzero(LEVELS == 0.5)[0])


class DeepAR:
    """A recurrent network that steps from block to block and gives out a distribution of the load at each.

    At each block it sees the features of the origin and, as an autoregressive model, the newest targets that are known
    there: those whose windows had ended. So the distribution at the origin needs no sample paths.
    """

    name: ClassVar[str] = "deepar"

    def __init__(self, task: ForecastTask) -> None:
        self.task = task
        self._features: Features | None = None
        self._network: DeepARNetwork | None = None

    @property
    def reach_s(self) -> int:
        """See `Forecaster`."""
        lagged_s = (self.task.blocks + max(lags(self.task)) - 1) * self.task.block_s
        return max(sequence_reach_s(self.task, Features(self.task, 0.0, 0.0)), lagged_s)

    @property
    def least_s(self) -> int:
        """See `Forecaster`: one stretch."""
        before_s = (self._stretch - 1) * self.task.block_s + Features(self.task, 0.0, 0.0).reach_s
        return before_s + self.task.horizon_s

    @property
    def _stretch(self) -> int:
        """Blocks that are read in one go, with those of the lags."""
        return stretch(self.task) + max(lags(self.task))

    def fit(self, series: LoadSeries, fitting: Fitting | None = None) -> None:
        """See `Forecaster.fit`."""
        self.task.check_step(series.step_s)
        features = Features.of(series, self.task)
        learned = stretch(self.task)

        def network() -> DeepARNetwork:
            made = DeepARNetwork(self.task, features)
            made.use_context(learned)
            return made

        self._network = fitted(network, series, features, self._stretch, fitting or Fitting())
        self._network.use_context(self.task.blocks)
        self._features = features

    @torch.inference_mode()
    def predict(self, series: LoadSeries, at: Origins) -> Forecast:
        """See `Forecaster.predict`."""
        if self._network is None or self._features is None:
            raise not_fitted(self.name)
        check_reach(series, at, self.reach_s)
        parts = [self._predict(series, at[first : first + AT_ONCE]) for first in range(0, len(at), AT_ONCE)]
        if not parts:
            return Forecast(np.zeros((0, len(LEVELS))), np.zeros(0))
        return Forecast(np.concatenate([p.quantiles for p in parts]), np.concatenate([p.point for p in parts]))

    def state(self) -> State:
        """See `Forecaster.state`."""
        if self._network is None or self._features is None:
            raise not_fitted(self.name)
        return arrays_of(self._network), {"level": self._features.level, "surge_qps": self._features.surge_qps}

    def restore(self, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> None:
        """See `Forecaster.restore`."""
        features = Features(self.task, values["level"], values["surge_qps"])
        network = DeepARNetwork(self.task, features)
        take_arrays(network, arrays)
        self._features, self._network = features, network

    def _predict(self, series: LoadSeries, at: Origins) -> Forecast:
        assert self._network is not None
        assert self._features is not None
        features = self._features
        seen = read(series, at, features, self.task.blocks)
        arguments = self._network.last(seen, torch.from_numpy(self._known(series, at)))
        quantiles = np.maximum(np.expm1(Mixtures(arguments).quantiles(LEVELS) + features.level), 0.0)
        if self.task.point == "median":
            return Forecast(quantiles, quantiles[:, MEDIAN])
        mean = mean_of_exp(arguments).numpy().astype(np.float64)
        return Forecast(quantiles, np.maximum(mean * np.exp(features.level) - 1, 0.0))

    def _known(self, series: LoadSeries, at: Origins) -> NDArray[np.float32]:
        """The targets of the blocks before each origin, scaled, 0 where they are not known yet or not needed."""
        assert self._features is not None
        task, step_s = self.task, series.step_s
        own = lags(task)
        before = np.arange(task.blocks + own[-1] - 1, 0, -1)
        first = at[:, None] - before[before >= own[0]] * (task.block_s // step_s) + task.lead_s // step_s
        length = task.window_s // step_s
        if len(at) == 1:
            windows = series.loads_qps[first[..., None] + np.arange(length)]
            truth = windows.max(axis=-1) if task.statistic == "max" else windows.mean(axis=-1)
        else:
            truth = statistic_of(series.loads_qps, task, length)[first]
        known = np.zeros((len(at), len(before)), dtype=np.float32)
        known[:, : truth.shape[1]] = self._features.scaled(truth)
        return known


class DeepARNetwork(torch.nn.Module):
    """GluonTS's network, several times. Targets come scaled, so that it scales nothing itself."""

    def __init__(self, task: ForecastTask, features: Features) -> None:
        super().__init__()
        self._level = features.level
        self._warm_up = task.blocks // 2
        self._width = features.width
        self._blocks = task.blocks
        self.members = torch.nn.ModuleList(self._member(task, features) for _ in range(MEMBERS))

    def use_context(self, blocks: int) -> None:
        """Read stretches of so many blocks from now on."""
        self._blocks = blocks
        for member in self.members:
            member.context_length = blocks

    def _member(self, task: ForecastTask, features: Features) -> DeepARModel:
        model = DeepARModel(
            freq="s",  # only to choose lags and features by, both of which are given
            context_length=task.blocks,
            prediction_length=1,
            num_feat_dynamic_real=features.width,
            num_layers=LAYERS,
            hidden_size=CELLS,
            dropout_rate=0.0,
            distr_output=LoadMixture(),
            lags_seq=lags(task),
            scaling=False,
        )
        # GluonTS drops out between layers only
        model.param_proj = torch.nn.Sequential(torch.nn.Dropout(DROPOUT), model.param_proj)
        return model

    def loss(self, batch: Stretches) -> torch.Tensor:
        """How unlikely the truth is at all origins of the stretches but the first few, for which little is known."""
        targets = torch.log1p(batch.truth_qps) - self._level
        observed = batch.observed.clone()
        observed[:, : -self._blocks + self._warm_up] = 0
        inputs = {
            **_static(len(targets)),
            "past_time_feat": batch.features[:, :-1],
            "past_target": targets[:, :-1],
            "past_observed_values": observed[:, :-1],
            "future_time_feat": batch.features[:, -1:],
            "future_target": targets[:, -1:],
        }
        counted, wanted = observed[:, -self._blocks :], targets[:, -self._blocks :]
        losses = []
        for member in self.members:
            arguments, *_ = member.unroll_lagged_rnn(**inputs)
            errors = member.distr_output.loss(target=wanted, distr_args=arguments)
            losses.append((errors * counted).sum())
        mean: torch.Tensor = torch.stack(losses).mean() / counted.sum().clamp(min=1)
        return mean

    def last(self, features: torch.Tensor, known: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The arguments of the distribution at the last origin, from features ``[n, blocks, features]``.

        ``known`` are the targets of the blocks before, ``[n, blocks + longest lag - 1]``.
        """
        unused = features.new_zeros(len(features), known.shape[1] - features.shape[1] + 1, self._width)
        inputs = {
            **_static(len(features)),
            "past_time_feat": torch.cat([unused, features[:, :-1]], dim=1),
            "past_target": known,
            "past_observed_values": torch.ones_like(known),
            "future_time_feat": features[:, -1:],
        }
        found = []
        for member in self.members:
            (logits, loc, scale), *_ = member.unroll_lagged_rnn(**inputs)
            found.append((logits[:, -1].log_softmax(dim=-1), loc[:, -1], scale[:, -1]))
        return tuple(torch.cat(arguments, dim=-1) for arguments in zip(*found, strict=True))


def lags(task: ForecastTask) -> list[int]:
    """How many blocks back the newest targets lie whose windows had ended by the origin."""
    newest = ceil(task.horizon_s / task.block_s)
    return [newest + more for more in range(LAGS)]


def _static(items: int) -> dict[str, torch.Tensor]:
    """GluonTS wants features that tell series apart; here is one series."""
    return {
        "feat_static_cat": torch.zeros(items, 1, dtype=torch.long),
        "feat_static_real": torch.zeros(items, 1),
    }
