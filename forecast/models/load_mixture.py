"""A load that may be any of a few: the distribution that DeepAR gives out."""

from typing import Any, ClassVar

import numpy as np
import torch
from gluonts.torch.distributions import DistributionOutput
from numpy.typing import NDArray
from scipy.special import ndtr
from torch.distributions import Categorical, MixtureSameFamily, Normal

COMPONENTS = 3
NARROWEST = 0.02
HALVINGS = 20


class LoadMixture(DistributionOutput):
    """A mixture of normal distributions of the logarithm of the load: calm and surge can both be likely."""

    args_dim: ClassVar[dict[str, int]] = {"logits": COMPONENTS, "loc": COMPONENTS, "scale": COMPONENTS}

    @classmethod
    def domain_map(
        cls, logits: torch.Tensor, loc: torch.Tensor, scale: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """From what a network gives out to arguments of the distribution."""
        return logits, loc, 0.3 * torch.nn.functional.softplus(scale - 1) + NARROWEST

    def _base_distribution(self, distr_args: Any) -> MixtureSameFamily:
        logits, loc, scale = distr_args
        parts = Normal(loc, scale, validate_args=False)
        return MixtureSameFamily(Categorical(logits=logits, validate_args=False), parts, validate_args=False)

    @property
    def event_shape(self) -> tuple[()]:
        """One number."""
        return ()


def mean_of_exp(arguments: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """The mean of the exponential of what is distributed so, shape ``[...]``, from arguments ``[..., components]``."""
    logits, loc, scale = arguments
    mean: torch.Tensor = (logits.softmax(dim=-1) * torch.exp(loc + scale**2 / 2)).sum(dim=-1)
    return mean


class Mixtures:
    """Many such mixtures at once, of as many components each as the arguments have, shape ``[n, components]``."""

    def __init__(self, arguments: tuple[torch.Tensor, ...]) -> None:
        logits, loc, scale = (each.numpy().astype(np.float64) for each in arguments)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        self._shares = weights / weights.sum(axis=1, keepdims=True)
        self._loc, self._scale = loc, scale

    def quantiles(self, levels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shape ``[n, levels]``: found by halving, since a mixture's quantiles have no formula."""
        low = (self._loc - 5 * self._scale).min(axis=1)[:, None].repeat(len(levels), axis=1)
        high = (self._loc + 5 * self._scale).max(axis=1)[:, None].repeat(len(levels), axis=1)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            under = self._below(middle) < levels
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return np.maximum.accumulate(high, axis=1)

    def _below(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        standard = (values[:, :, None] - self._loc[:, None, :]) / self._scale[:, None, :]
        below: NDArray[np.float64] = (self._shares[:, None, :] * ndtr(standard)).sum(axis=2)
        return below
