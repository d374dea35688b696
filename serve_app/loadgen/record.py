"""What is noted of each query, and of a run."""

from dataclasses import dataclass

from serve_app.loadgen.timing import Timing


@dataclass(frozen=True, slots=True)
class Record:
    """One query. Instants are seconds from the start of the run.

    ``correct`` is None where the true or the answered label is unknown, and of an emulated answer. ``retry_after`` says
    that the answer had that header. See `Answer` for the other fields.
    """

    intended_s: float
    sent_s: float
    done_s: float
    status: int
    variant: str | None
    expected_accuracy: float | None
    deadline_met: bool | None
    correct: bool | None
    error_kind: str | None
    error: str | None
    emulated: bool = False
    retry_after: bool = False
    timing: Timing | None = None

    @property
    def latency_ms(self) -> float:
        """From the intended instant, so that a wait inside the generator counts too (coordinated omission)."""
        return (self.done_s - self.intended_s) * 1e3

    @property
    def lag_ms(self) -> float:
        """How late the generator itself was."""
        return (self.sent_s - self.intended_s) * 1e3


@dataclass(frozen=True)
class Run:
    """What happened. ``sent`` counts all queries that left, ``records`` those that ended, by intended instant.

    ``duration_s`` is the planned length, or the instant of the stop where ``interrupted``.
    """

    records: tuple[Record, ...]
    sent: int
    duration_s: float
    interrupted: bool
