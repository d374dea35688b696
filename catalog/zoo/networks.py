"""The torch networks of the zoo, from one hidden layer to an ensemble of convolutional networks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from catalog.zoo.digits import LABELS, SIDE

_MAX_GREY = 16.0


class Classifier(nn.Module):
    """What every variant exports: ``image`` FP32 [N, 12, 12], grey levels 0 to 16, to label and probabilities.

    ``body`` maps scaled images [N, 1, 12, 12] to logits [N, 10].
    """

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def logits(self, image: Tensor) -> Tensor:
        """Logits [N, 10] of images [N, 12, 12]; what training works on."""
        logits: Tensor = self.body((image / _MAX_GREY).unsqueeze(1))
        return logits

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Label INT64 [N] and probabilities FP32 [N, 10]."""
        logits = self.logits(image)
        return logits.argmax(dim=1), logits.softmax(dim=1)


def conv(inputs: int, outputs: int) -> nn.Sequential:
    """3x3 convolution, batch normalisation, ReLU: [N, inputs, H, W] to [N, outputs, H, W]."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class Ensemble(nn.Module):
    """The mean of the members' probabilities, as logits again: [N, 1, 12, 12] to [N, 10]."""

    def __init__(self, members: Iterable[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, x: Tensor) -> Tensor:
        """Logits whose softmax is the mean over the members."""
        probabilities = torch.stack([member(x).softmax(dim=1) for member in self.members])
        return probabilities.mean(dim=0).log()


def mlp(hidden: int) -> nn.Module:
    """One hidden layer."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(SIDE * SIDE, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, len(LABELS))
    )


def cnn(*stages: tuple[int, ...]) -> nn.Module:
    """Convolutions in stages of the given widths; a 2x2 maximum halves the image after every stage."""
    layers: list[nn.Module] = []
    inputs = 1
    for widths in stages:
        for width in widths:
            layers.append(conv(inputs, width))
            inputs = width
        layers.append(nn.MaxPool2d(2))
    side = SIDE // 2 ** len(stages)
    return nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.3), nn.Linear(inputs * side * side, len(LABELS)))


@dataclass(frozen=True)
class Recipe:
    """How one variant is made: its network, how long each member trains, and how many members vote.

    ``learning_rate`` is the peak of the one-cycle schedule; an epoch is one pass over the training originals.
    """

    name: str
    build: Callable[[], nn.Module]
    epochs: int
    learning_rate: float
    members: int = 1


RECIPES = (
    Recipe("digits-mlp", lambda: mlp(128), 150, 4e-3),
    Recipe("digits-cnn-xs", lambda: cnn((6,), (12,)), 150, 1e-2),
    Recipe("digits-cnn-s", lambda: cnn((8, 8), (16,)), 150, 1e-2),
    Recipe("digits-cnn-m", lambda: cnn((16, 16), (32,)), 150, 1e-2),
    Recipe("digits-cnn-l", lambda: cnn((20, 20), (40, 40)), 120, 6e-3),
    Recipe("digits-cnn-xl", lambda: cnn((32, 32, 32), (64, 64, 64)), 120, 6e-3),
    Recipe("digits-ensemble", lambda: cnn((32, 32, 32), (64, 64, 64)), 120, 6e-3, members=7),
)
"""The ladder, fastest first."""
