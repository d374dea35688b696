"""The torch networks of the zoo, from one matrix product to a wide residual network."""

from collections.abc import Callable
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


def conv(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """3x3 convolution, batch normalisation, ReLU: [N, inputs, H, W] to [N, outputs, H / stride, W / stride]."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
    )


class Residual(nn.Module):
    """Two 3x3 convolutions around a shortcut; the shortcut is a 1x1 convolution where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            conv(inputs, outputs, stride),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        """[N, inputs, H, W] to [N, outputs, H / stride, W / stride]."""
        return torch.relu(self.branch(x) + self.shortcut(x))


def linear() -> nn.Module:
    """One matrix product over the 144 pixels."""
    return nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, len(LABELS)))


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


def resnet(widths: tuple[int, ...], blocks: int, upsample: int = 1) -> nn.Module:
    """Residual blocks at ``upsample`` times the resolution, halved at each further width; mean over the image last."""
    layers: list[nn.Module] = []
    if upsample > 1:
        layers.append(nn.Upsample(scale_factor=upsample, mode="bilinear", align_corners=False))
    layers.append(conv(1, widths[0]))
    inputs = widths[0]
    for stage, width in enumerate(widths):
        for block in range(blocks):
            layers.append(Residual(inputs, width, stride=2 if stage > 0 and block == 0 else 1))
            inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.3), nn.Linear(inputs, len(LABELS)))


@dataclass(frozen=True)
class Recipe:
    """How one variant is made: its network, and the passes over the training originals."""

    name: str
    build: Callable[[], nn.Module]
    epochs: int


RECIPES = (
    Recipe("digits-linear", linear, 60),
    Recipe("digits-mlp", lambda: mlp(192), 150),
    Recipe("digits-cnn-s", lambda: cnn((8,), (16,)), 150),
    Recipe("digits-cnn-m", lambda: cnn((16, 16), (32,)), 150),
    Recipe("digits-cnn-l", lambda: cnn((32, 32), (64, 64)), 100),
    Recipe("digits-resnet", lambda: resnet((48, 96), 2), 60),
    Recipe("digits-wideresnet", lambda: resnet((32, 64, 128), 2, upsample=2), 40),
)
"""The ladder, fastest first."""
