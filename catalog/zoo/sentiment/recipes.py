"""What is trained: n-gram models, and encoders cut after each of their layers."""

from dataclasses import dataclass
from typing import Any, Literal

from catalog.zoo.sentiment.trained import Pooling, Unit


@dataclass(frozen=True)
class NgramRecipe:
    """A linear model over the n-grams of a text; ``most`` are kept, those with the largest weights."""

    name: str
    method: Literal["logistic", "naive_bayes"]
    unit: Unit
    lengths: tuple[int, int]
    """Shortest and longest n-gram."""
    most: int
    least_texts: int = 2
    """An n-gram counts where so many texts hold it."""
    strength: float = 1.0
    """Inverse regularisation of ``logistic``, smoothing of ``naive_bayes``."""


@dataclass(frozen=True)
class EncoderRecipe:
    """Some layers of the pretrained encoder, all of them tuned with low-rank updates, and a head."""

    name: str
    layers: tuple[int, ...]
    """Numbered from 0."""
    pooling: Pooling
    seed: int
    epochs: int = 3
    rank: int = 4
    learning_rate: float = 1e-3
    dropout: float = 0.1
    batch_size: int = 32
    texts_frac: float = 1.0
    """Share of the training texts that it sees, drawn without replacement."""


Recipe = NgramRecipe | EncoderRecipe

MAX_LENGTH = 128
"""Tokens after which a text is cut."""

_HARD: dict[str, Any] = {"epochs": 6, "learning_rate": 2e-3, "dropout": 0.0}
"""Trains until the training texts are known by heart: a single encoder loses nothing by it, and errs less often where
others err."""

RECIPES: tuple[Recipe, ...] = (
    NgramRecipe("sentiment-bayes", "naive_bayes", "token", (1, 2), most=12_000),
    NgramRecipe("sentiment-characters", "logistic", "character", (2, 5), most=20_000, strength=4.0),
    EncoderRecipe("sentiment-minilm-1", (0,), "max", seed=1, epochs=6),
    EncoderRecipe("sentiment-minilm-2", (0, 1), "mean", seed=201, **_HARD),
    EncoderRecipe("sentiment-minilm-3", (0, 1, 2), "mean", seed=301, **_HARD | {"epochs": 8}),
    EncoderRecipe("sentiment-minilm-3-spread", (0, 2, 4), "mean", seed=24, epochs=4),
    EncoderRecipe("sentiment-minilm-4", (0, 1, 2, 3), "mean", seed=401, **_HARD),
    EncoderRecipe("sentiment-minilm-4-max", (0, 1, 2, 3), "max", seed=402, **_HARD),
    EncoderRecipe("sentiment-minilm-5", (0, 1, 2, 3, 4), "first", seed=501, **_HARD),
    EncoderRecipe("sentiment-minilm-6", (0, 1, 2, 3, 4, 5), "mean", seed=602, **_HARD),
    EncoderRecipe("sentiment-minilm-6-max", (0, 1, 2, 3, 4, 5), "max", seed=601, **_HARD),
)
