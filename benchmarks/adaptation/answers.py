"""What came back of a load on several endpoints, as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from serve_app.loadgen.record import Record

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Answers:
    """One entry per query of any endpoint, in the order of ``intended_s``, seconds from the start of the load.

    A query ``violated`` its objective if it failed or was answered late by the client's own count; ``failed`` ones got
    no answer or another than 200. ``accuracy`` is what the server says of the variant that answered, 0 to 1, NaN where
    it says nothing.
    """

    intended_s: Floats
    latency_ms: Floats
    violated: Flags
    failed: Flags
    accuracy: Floats

    @classmethod
    def of(cls, records: Mapping[str, Sequence[Record]], slo_ms: Mapping[str, float]) -> "Answers":
        """Records and objectives by endpoint."""
        rows = sorted(((record, slo_ms[name]) for name, own in records.items() for record in own), key=_instant)
        return cls(
            np.array([record.intended_s for record, _ in rows], dtype=np.float64),
            np.array([record.latency_ms for record, _ in rows], dtype=np.float64),
            np.array([record.error is not None or record.latency_ms > limit for record, limit in rows], dtype=np.bool_),
            np.array([record.error is not None for record, _ in rows], dtype=np.bool_),
            np.array([np.nan if r.expected_accuracy is None else r.expected_accuracy for r, _ in rows], np.float64),
        )

    def __len__(self) -> int:
        return len(self.intended_s)

    def where(self, chosen: Flags) -> "Answers":
        """Those that are chosen, in the same order."""
        return Answers(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def inside(self, spans_s: Sequence[tuple[float, float]]) -> Flags:
        """Which were meant to leave in one of the spans, from its start until before its end."""
        chosen = np.zeros(len(self), dtype=np.bool_)
        for start_s, end_s in spans_s:
            chosen |= (self.intended_s >= start_s) & (self.intended_s < end_s)
        return chosen

    def between(self, start_s: float, end_s: float) -> "Answers":
        """Those meant to leave from ``start_s`` until before ``end_s``."""
        return self.where(self.inside([(start_s, end_s)]))

    def windows(self, start_s: float, end_s: float, width_s: float) -> list["Answers"]:
        """Cut into windows of equal width; what does not fill one is left out."""
        count = int((end_s - start_s) / width_s + 1e-9)
        starts_s = [start_s + number * width_s for number in range(count)]
        return [self.between(each_s, each_s + width_s) for each_s in starts_s]

    @property
    def violation_pct(self) -> float | None:
        """Violations in percent; None where there are no queries."""
        return 100.0 * float(self.violated.mean()) if len(self) else None

    @property
    def accuracy_pct(self) -> float | None:
        """Mean expected accuracy of the answers, in percent; None where no answer tells it."""
        known = self.accuracy[~np.isnan(self.accuracy)]
        return 100.0 * float(known.mean()) if len(known) else None

    def p99_ms(self) -> float | None:
        """The 99th percentile of the latency of what was answered; None where nothing was."""
        answered_ms = self.latency_ms[~self.failed]
        return float(np.percentile(answered_ms, 99)) if len(answered_ms) else None


def _instant(row: tuple[Record, float]) -> float:
    return row[0].intended_s
