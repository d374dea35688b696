"""What a file says of its predictor."""

from dataclasses import dataclass, field

SUFFIX = ".safetensors"
"""Of files with predictors."""


@dataclass(frozen=True)
class ModelCard:
    """What is known of a predictor beside its numbers.

    ``errors`` is the mean absolute error of slowdown by kind, on configurations held out in turn; empty where one kind
    was asked for. ``machines`` and ``variants`` are those measured, ``degrees`` the numbers of variants that ran
    together. ``spread`` is the standard deviation of the slowdowns learned from. ``created_s`` is in seconds since the
    epoch, 0 where nobody said.
    """

    kind: str
    machines: tuple[str, ...]
    variants: tuple[str, ...]
    degrees: tuple[int, ...]
    configurations: int
    spread: float
    errors: dict[str, float] = field(default_factory=dict)
    created_s: float = 0.0
