"""What the recurrent forecasters have in common."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from forecast.forecaster import Fitting
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins
from forecast.training.features import Features
from forecast.training.network import EPOCH_BATCHES, train
from forecast.training.sequences import StretchBatches
from forecast.training.task import ForecastTask

AT_ONCE = 2048

LEAST_TRAINED = 60
"""Stretches to learn from have at least so many origins, and three times those of the context."""


Network = TypeVar("Network", bound=torch.nn.Module)


def sequence_reach_s(task: ForecastTask, features: Features) -> int:
    """How much history a network reads that sees every block of the context."""
    return task.context_s - task.block_s + features.reach_s


def stretch(task: ForecastTask) -> int:
    """How many origins a network learns from in one go."""
    return max(LEAST_TRAINED, 3 * task.blocks)


def fitted(
    make: Callable[[], Network], series: LoadSeries, features: Features, blocks: int, fitting: Fitting
) -> Network:
    """A network that has learned from stretches of so many blocks; the same for the same seed."""
    batches = StretchBatches(series, features, blocks, EPOCH_BATCHES)
    with torch.random.fork_rng():
        torch.manual_seed(fitting.seed)
        network = make()
        train(network, batches, fitting)
    return network


def read(series: LoadSeries, at: Origins, features: Features, blocks: int) -> torch.Tensor:
    """The features of the last ``blocks`` origins up to each of ``at``, shape ``[origins, blocks, features]``."""
    step_s = series.step_s
    offsets = (np.arange(blocks) - blocks + 1) * (features.task.block_s // step_s)
    if len(at) == 1:  # look no further back than needed, which is what a service in operation waits for
        first = int(at[0]) + int(offsets[0]) - features.reach_s // step_s
        series, at = series.slice(first, int(at[0])), at - first
    return torch.from_numpy(features.view(series).at(at[:, None] + offsets))


def arrays_of(network: torch.nn.Module) -> dict[str, NDArray[Any]]:
    """The weights."""
    return {f"network.{name}": tensor.numpy().copy() for name, tensor in network.state_dict().items()}


def take_arrays(network: torch.nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Have these weights; RuntimeError where they do not fit."""
    own = {name.removeprefix("network."): array for name, array in arrays.items() if name.startswith("network.")}
    network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in own.items()})
    network.eval()
