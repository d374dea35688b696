"""The seam between measuring and what is measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class Program(Protocol):
    """A variant that is loaded in the process that asked for it."""

    def batch_of(self, rows: int) -> Callable[[], object]:
        """A function that runs one batch of ``rows`` rows to its end, each time that it is called."""
        ...

    def memory_bytes(self) -> int:
        """About what it holds in memory, on the device that it runs on."""
        ...

    def unload(self) -> None:
        """Let go of it."""
        ...


class Programs(Protocol):
    """Loads variants by name. Is pickled: every process of a measurement loads its own."""

    def prepare(self, variant: str) -> None:
        """Import whatever loading it needs, so that what loading adds to the memory is the variant's own."""
        ...

    def load(self, variant: str) -> Program:
        """Load it; `AccordError` where it cannot be loaded."""
        ...


@dataclass(frozen=True)
class MeasuredVariant:
    """What must be known of a variant to measure it."""

    name: str
    max_rows: int  # of one batch
    architecture: Mapping[str, float] = field(default_factory=dict)  # arch_ columns; may be empty
