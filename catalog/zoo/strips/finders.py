"""The torch networks that say where digits start, from a filter over column sums to seven convolutions."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from catalog.zoo.networks import conv
from catalog.zoo.strips.layout import HEIGHT, WIDTH

_MAX_GREY = 16.0
_APART = 7
"""Columns of which at most one has a digit start; odd."""


class Finder(nn.Module):
    """What every variant exports: ``image`` UINT8 [N, 12, 128], grey levels 0 to 16, to ``starts`` FP32 [N, 128].

    ``body`` maps scaled images [N, 1, 12, 128] to logits [N, 128]. ``threshold`` is the logit that scores 0.5. Columns
    that score less than another one near by score 0.
    """

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.register_buffer("threshold", torch.zeros(()))

    def logits(self, image: Tensor) -> Tensor:
        """Logits [N, 128] of images [N, 12, 128]; what training works on."""
        logits: Tensor = self.body((image.to(torch.float32) / _MAX_GREY).unsqueeze(1)).reshape(-1, WIDTH)
        return logits

    def forward(self, image: Tensor) -> Tensor:
        """Score between 0 and 1 of every column."""
        logits = self.logits(image)
        highest = functional.max_pool1d(logits.unsqueeze(1), _APART, stride=1, padding=_APART // 2).squeeze(1)
        return torch.where(logits >= highest, torch.sigmoid(logits - self.threshold), 0.0)


class Columns(nn.Module):
    """One filter over column sums: [N, 1, 12, 128] to [N, 1, 1, 128]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.filter = nn.Conv2d(1, 1, (1, width), padding=(0, width // 2))

    def forward(self, x: Tensor) -> Tensor:
        """Sums, filtered."""
        filtered: Tensor = self.filter(x.sum(dim=2, keepdim=True))
        return filtered


def across(height: int, inputs: int, outputs: int, width: int) -> nn.Sequential:
    """A convolution as high as the image: [N, inputs, height, W] to [N, outputs, 1, W]."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, (height, width), padding=(0, width // 2), bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


def shallow(width: int) -> nn.Module:
    """A convolution over the whole height, two along the strip."""
    return nn.Sequential(
        across(HEIGHT, 1, width, 9), across(1, width, width, 9), nn.Conv2d(width, 1, (1, 5), padding=(0, 2))
    )


def deep(*stages: tuple[int, ...]) -> nn.Module:
    """3x3 convolutions in stages of the given widths, a maximum that halves the height after each, then `shallow`'s."""
    layers: list[nn.Module] = []
    inputs = 1
    for widths in stages:
        for width in widths:
            layers.append(conv(inputs, width))
            inputs = width
        layers.append(nn.MaxPool2d((2, 1)))
    height = HEIGHT // 2 ** len(stages)
    layers += [across(height, inputs, inputs, 5), across(1, inputs, inputs, 5), nn.Conv2d(inputs, 1, 1)]
    return nn.Sequential(*layers)


@dataclass(frozen=True)
class Recipe:
    """How one variant is made: its network, how many strips it sees, and the peak of the one-cycle learning rate."""

    name: str
    build: Callable[[], nn.Module]
    strips: int
    learning_rate: float


RECIPES = (
    Recipe("strip-find-columns", lambda: Columns(21), 40_000, 3e-2),
    Recipe("strip-find-s", lambda: shallow(4), 40_000, 1e-2),
    Recipe("strip-find-m", lambda: deep((8,), (12,)), 40_000, 1e-2),
    Recipe("strip-find-l", lambda: deep((24, 24), (32,)), 40_000, 8e-3),
    Recipe("strip-find-xl", lambda: deep((64, 64, 64), (64,)), 44_000, 6e-3),
)
"""The ladder, fastest first."""
