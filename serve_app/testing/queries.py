"""What came back of a load, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from serve_app.loadgen.record import Record

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Queries:
    """One entry per query that ended. Instants are seconds of the machine's monotonic clock."""

    intended_s: Floats  # when it was to leave
    sent_s: Floats  # when it left
    done_s: Floats  # when its answer, or its failure, was known to the client
    failed: Flags  # no answer, or another than 200
    late: Flags  # answered, and ``deadline_met`` is false: late by the server's account
    correct: Floats  # 1 where the answered label is the true one, 0 where not, NaN where unknown
    accuracy: Floats  # measured accuracy of the variant that answered, 0 to 1, NaN where nothing answered
    variant: NDArray[np.str_]  # who answered, empty where nothing did
    status: NDArray[np.int64]  # of HTTP, 0 where there was no answer
    kind: NDArray[np.str_]  # of the error, empty where there was none
    retry_after: Flags  # whether the answer said when to come again
    run_s: Floats  # of the batch that it was in, by the server's account, NaN where that is not told
    way_s: Floats  # of that batch from its launch to its result, less the run; likewise
    rows: NDArray[np.int64]  # of that batch, 0 where that is not told

    @classmethod
    def of(cls, records: Sequence[Record], began_s: float) -> "Queries":
        """Records of a run that began at ``began_s``."""
        return cls(
            began_s + np.array([record.intended_s for record in records], dtype=np.float64),
            began_s + np.array([record.sent_s for record in records], dtype=np.float64),
            began_s + np.array([record.done_s for record in records], dtype=np.float64),
            failed=np.array([record.error is not None for record in records], dtype=np.bool_),
            late=np.array([record.error is None and record.deadline_met is False for record in records], np.bool_),
            correct=_floats([record.correct for record in records]),
            accuracy=_floats([record.expected_accuracy for record in records]),
            variant=np.array([record.variant or "" for record in records], dtype=np.str_),
            status=np.array([record.status for record in records], dtype=np.int64),
            kind=np.array([record.error_kind or "" for record in records], dtype=np.str_),
            retry_after=np.array([record.retry_after for record in records], dtype=np.bool_),
            run_s=_floats([record.timing and record.timing.run_s for record in records]),
            way_s=_floats([record.timing and record.timing.way_s for record in records]),
            rows=np.array([record.timing.rows if record.timing else 0 for record in records], dtype=np.int64),
        )

    @classmethod
    def joined(cls, parts: Sequence["Queries"]) -> "Queries":
        """All parts, one after the other."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def __len__(self) -> int:
        return len(self.intended_s)

    def where(self, chosen: Flags) -> "Queries":
        """Those that are chosen, in the same order."""
        return Queries(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def intended_in(self, spans_s: Sequence[tuple[float, float]]) -> "Queries":
        """Those meant to leave in one of the spans, from its start until before its end."""
        chosen = np.zeros(len(self), dtype=np.bool_)
        for start_s, end_s in spans_s:
            chosen |= (self.intended_s >= start_s) & (self.intended_s < end_s)
        return self.where(chosen)

    @property
    def violated(self) -> Flags:
        """By the server's account: late, or an error."""
        return self.failed | self.late

    def violated_at_client(self, slo_ms: float) -> Flags:
        """By the client's clock, from the instant at which the query was to leave."""
        return self.failed | (self.latency_ms > slo_ms)

    @property
    def latency_ms(self) -> Floats:
        """From the intended instant, so that a wait inside the generator counts too."""
        return (self.done_s - self.intended_s) * 1e3

    @property
    def lag_ms(self) -> Floats:
        """How late the generator itself was."""
        return (self.sent_s - self.intended_s) * 1e3


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
