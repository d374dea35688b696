"""What a run showed, as a pure function of its records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from serve_app.loadgen.lag import Lag
from serve_app.loadgen.record import Record, Run

SLICE_WIDTHS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
MOST_SLICES = 30


@dataclass(frozen=True)
class Latency:
    """Latency of successful answers in milliseconds, from the intended instant."""

    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Tally:
    """Counts and means over some queries; a latency or an accuracy is None where no answer tells it.

    A query violates the objective if it failed or was answered later than ``slo_ms``, as seen by the client.
    ``share`` maps a variant to its fraction of the successful answers. ``accuracy_pct`` is over answers whose true
    label is known, ``expected_accuracy_pct`` the mean of what the server promised.
    """

    ended: int
    answered: int
    violations: int
    latency_ms: Latency | None
    accuracy_pct: float | None
    expected_accuracy_pct: float | None
    share: Mapping[str, float]

    @property
    def violations_pct(self) -> float | None:
        """Violations in percent of all queries that ended."""
        return 100.0 * self.violations / self.ended if self.ended else None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "violations_pct": self.violations_pct}


@dataclass(frozen=True)
class Slice:
    """The queries meant to leave in ``width_s`` seconds from ``start_s``; ``rate_qps`` is how many, per second."""

    start_s: float
    width_s: float
    rate_qps: float
    tally: Tally

    def to_json(self) -> dict[str, Any]:
        own = {"start_s": self.start_s, "width_s": self.width_s, "rate_qps": self.rate_qps}
        return {**own, **self.tally.to_json()}


@dataclass(frozen=True)
class ErrorKind:
    """How many queries failed in one way, and the words of the first."""

    count: int
    example: str


@dataclass(frozen=True)
class Report:
    """A run in numbers. ``slo_ms`` is None where no objective is known; then only failures violate.

    ``unfinished`` queries were still out when the run was interrupted; nothing else counts them.
    ``missed_at_server`` counts answers whose deadline the server itself says it missed, ``emulated`` those that no
    model gave.
    """

    slo_ms: float | None
    duration_s: float
    interrupted: bool
    sent: int
    unfinished: int
    offered_qps: float
    throughput_qps: float
    total: Tally
    missed_at_server: int
    errors: Mapping[str, ErrorKind]
    lag: Lag
    slices: tuple[Slice, ...]
    emulated: int = 0

    def to_json(self) -> dict[str, Any]:
        """Everything, in plain types."""
        return {
            "slo_ms": self.slo_ms,
            "duration_s": self.duration_s,
            "interrupted": self.interrupted,
            "sent": self.sent,
            "unfinished": self.unfinished,
            "offered_qps": self.offered_qps,
            "throughput_qps": self.throughput_qps,
            **self.total.to_json(),
            "missed_at_server": self.missed_at_server,
            "emulated": self.emulated,
            "errors": {kind: asdict(error) for kind, error in self.errors.items()},
            "lag_ms": {"p99": self.lag.p99_ms, "max": self.lag.max_ms, "limit": self.lag.limit_ms},
            "fell_behind": self.lag.fell_behind,
            "slices": [piece.to_json() for piece in self.slices],
        }


def summarise(run: Run, slo_ms: float | None) -> Report:
    """Judge a run. Throughput is over the time until the last answer, where that came after the last query."""
    records = run.records
    total = tally(records, slo_ms)
    last_s = max((record.done_s for record in records if record.error is None), default=0.0)
    span_s = max(run.duration_s, last_s)
    return Report(
        slo_ms=slo_ms,
        duration_s=run.duration_s,
        interrupted=run.interrupted,
        sent=run.sent,
        unfinished=run.sent - len(records),
        offered_qps=run.sent / run.duration_s if run.duration_s else 0.0,
        throughput_qps=total.answered / span_s if span_s else 0.0,
        total=total,
        missed_at_server=sum(record.deadline_met is False for record in records),
        errors=_errors(records),
        lag=Lag.of(np.array([record.lag_ms for record in records]), slo_ms),
        slices=_slices(run, slo_ms),
        emulated=sum(record.emulated for record in records),
    )


def tally(records: Sequence[Record], slo_ms: float | None) -> Tally:
    """Count and average ``records``."""
    answered = [record for record in records if record.error is None]
    late = 0 if slo_ms is None else sum(record.latency_ms > slo_ms for record in answered)
    variants = Counter(record.variant or "unnamed" for record in answered)
    return Tally(
        ended=len(records),
        answered=len(answered),
        violations=len(records) - len(answered) + late,
        latency_ms=_latency([record.latency_ms for record in answered]),
        accuracy_pct=_mean_pct([record.correct for record in answered if record.correct is not None]),
        expected_accuracy_pct=_mean_pct([r.expected_accuracy for r in answered if r.expected_accuracy is not None]),
        share={name: count / len(answered) for name, count in variants.most_common()},
    )


def _latency(latencies_ms: list[float]) -> Latency | None:
    if not latencies_ms:
        return None
    p50, p95, p99 = np.percentile(latencies_ms, [50, 95, 99])
    return Latency(float(np.mean(latencies_ms)), float(p50), float(p95), float(p99))


def _mean_pct(ratios: Sequence[float]) -> float | None:
    return 100.0 * float(np.mean(ratios)) if ratios else None


def _errors(records: Sequence[Record]) -> dict[str, ErrorKind]:
    kinds = Counter(record.error_kind for record in records if record.error_kind is not None)
    first = {record.error_kind: record.error for record in reversed(records)}
    return {kind: ErrorKind(count, str(first[kind])) for kind, count in kinds.most_common()}


def _slices(run: Run, slo_ms: float | None) -> tuple[Slice, ...]:
    """Cut the run into at most `MOST_SLICES` of a round width; the last may be shorter."""
    if not run.duration_s:
        return ()
    widths_s = (width for width in SLICE_WIDTHS_S if run.duration_s <= width * MOST_SLICES)
    width_s = next(widths_s, run.duration_s / MOST_SLICES)
    buckets: list[list[Record]] = [[] for _ in range(max(int(np.ceil(run.duration_s / width_s - 1e-9)), 1))]
    for record in run.records:
        buckets[min(int(record.intended_s / width_s + 1e-9), len(buckets) - 1)].append(record)
    slices = []
    for number, bucket in enumerate(buckets):
        start_s = number * width_s
        length_s = min(width_s, run.duration_s - start_s)
        slices.append(Slice(start_s, length_s, len(bucket) / length_s, tally(bucket, slo_ms)))
    return tuple(slices)
