"""What is to be forecast, and from how much history."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from catalog.errors import ConfigError

Statistic = Literal["max", "mean"]
Point = Literal["median", "mean"]


@dataclass(frozen=True)
class ForecastTask:
    """One number: a statistic of the loads of the steps within a window of the future.

    At an origin, the instant up to which the load is known, that is the ``statistic`` of the loads of the steps from
    ``lead_s`` after it on, for ``window_s``. Models see the last ``context_s`` of observed steps, summed up in blocks
    of ``block_s``, and what the clock says; those that remember surges do so for ``memory_s`` (0: not at all).
    ``point`` is the best single guess: the median where relative errors count, the mean where squared ones do.
    Lengths are whole seconds and multiples of the step of the series.

    The default is the task of IPA's predictor (section 3): the maximum of the next 20 s from the past 120 s.
    """

    context_s: int = 120
    window_s: int = 20
    lead_s: int = 0
    block_s: int = 10
    memory_s: int = 0
    statistic: Statistic = "max"
    point: Point = "median"

    def __post_init__(self) -> None:
        for name in ("context_s", "window_s", "block_s"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} of a forecast is {getattr(self, name)}; give at least 1 s")
        for name in ("lead_s", "memory_s"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} of a forecast is {getattr(self, name)}; give at least 0 s")
        if self.context_s % self.block_s:
            raise ConfigError(f"context_s {self.context_s} is not a multiple of block_s {self.block_s}; make it one")
        for name, known in (("statistic", Statistic), ("point", Point)):
            if getattr(self, name) not in get_args(known):
                raise ConfigError(f"{name} of a forecast is {getattr(self, name)!r}; known are {get_args(known)}")

    def check_step(self, step_s: int) -> None:
        """Raise `ConfigError` where a length is no multiple of the step of a series."""
        for name in ("context_s", "window_s", "lead_s", "block_s", "memory_s"):
            if getattr(self, name) % step_s:
                raise ConfigError(
                    f"{name} of the forecast is {getattr(self, name)} s, but the series has steps of {step_s} s; give "
                    "a multiple"
                )

    @property
    def blocks(self) -> int:
        """Blocks in the context."""
        return self.context_s // self.block_s

    @property
    def horizon_s(self) -> int:
        """How far from the origin the window ends."""
        return self.lead_s + self.window_s

    def to_record(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)
