"""What stands behind an accuracy that was measured."""

from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


class AccuracySource(StrEnum):
    """Where an accuracy comes from."""

    MEASURED = "measured"  # on labelled data, by `accord evaluate`
    DECLARED = "declared"  # the catalogue says so
    ESTIMATED = "estimated"  # of several variants together, by a formula or by recorded votes


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Measured:
    """A measurement on ``examples`` labelled rows of ``data``.

    ``low`` and ``high`` are the ends of the 95% interval of the score that ``metric`` gives, 0 to 1.
    """

    metric: str
    low: float = Field(ge=0.0, le=1.0)
    high: float = Field(ge=0.0, le=1.0)
    examples: int = Field(ge=1)
    data: str = ""

    def to_record(self) -> dict[str, Any]:
        """In JSON values."""
        return {"metric": self.metric, "low": self.low, "high": self.high, "examples": self.examples}


class AccuracyOrigin(NamedTuple):
    """Where the accuracy of a variant comes from; ``measured`` where it was."""

    source: AccuracySource
    measured: Measured | None = None

    def to_record(self) -> dict[str, Any]:
        """In JSON values, as people see it beside the accuracy."""
        return {
            "accuracy_source": self.source.value,
            "measured": None if self.measured is None else self.measured.to_record(),
        }


UNKNOWN_ORIGIN = AccuracyOrigin(AccuracySource.ESTIMATED)
"""Of what no single variant answered."""
