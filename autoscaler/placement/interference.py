"""The seam of what variants cost each other on one worker."""

from collections.abc import Collection
from typing import Protocol


class Interference(Protocol):
    """How much slower a variant gets beside others that are loaded on the same worker."""

    def slowdown(self, device: str, variant: str, beside: Collection[str]) -> float:
        """Factor on the variant's latency, at least 1; 1 where ``beside`` is empty."""
        ...


class NoInterference:
    """Variants that are loaded and idle cost nothing: a worker runs one batch at a time."""

    def slowdown(self, device: str, variant: str, beside: Collection[str]) -> float:
        """Always 1."""
        return 1.0
