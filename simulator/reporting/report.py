"""What a simulation says, in figures."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.batch_log import Batches
from simulator.record import Record

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Series:
    """One entry per interval that begins at ``start_s``; a query belongs to the interval in which it arrived.

    Percentages are None where nothing counts. ``share_pct`` has a list per variant.
    """

    start_s: list[float]
    interval_s: float
    arrivals_qps: list[float]
    accuracy_pct: list[float | None]
    violation_pct: list[float | None]
    share_pct: dict[str, list[float | None]]


@dataclass(frozen=True)
class EndpointReport:
    """One endpoint over the whole run; percentages from 0 to 100, None where nothing counts.

    ``accuracy_pct`` is the mean over the queries in time, ``violation_pct`` the share of queries that were late or
    refused. The same ``by_batch`` as the authors of RAMSIS count: a batch is late as a whole when its earliest deadline
    is missed. ``share_pct`` is of the answered queries, most accurate variant first. Where several batches make an
    answer, in pipelines and votes, there is nothing by batch, and no shares.
    """

    queries: int
    refused: int
    accuracy_pct: float | None
    violation_pct: float | None
    accuracy_by_batch_pct: float | None
    violation_by_batch_pct: float | None
    mean_batch: float | None
    latency_ms: dict[str, float] | None
    share_pct: dict[str, float]
    series: Series


@dataclass(frozen=True)
class Report:
    """All endpoints. ``duration_s`` is until the last arrival or result; ``utilisation_pct`` is of all workers."""

    duration_s: float
    workers: int
    utilisation_pct: float
    endpoints: dict[str, EndpointReport]

    @classmethod
    def of(cls, record: Record, interval_s: float) -> "Report":
        """Work the figures out; ``interval_s`` is the step of the series."""
        batches = record.batches
        duration_s = float(max(record.arrival_s.max(initial=0.0), batches.done_s.max(initial=0.0)))
        busy_s = _busy_s(batches)
        workers = len(batches.workers)
        capacity_s = duration_s * workers
        return cls(
            duration_s,
            workers,
            100.0 * busy_s / capacity_s if capacity_s else 0.0,
            {
                name: _endpoint_report(record, record.endpoint == index, interval_s)
                for index, name in enumerate(record.endpoints)
            },
        )

    def as_json(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers."""
        return asdict(self)


def _busy_s(batches: Batches) -> float:
    """How long workers had a batch, in sum; those that were launched ahead count from the result before theirs."""
    order = np.lexsort((batches.done_s, batches.worker))
    worker, launched_s, done_s = batches.worker[order], batches.launched_s[order], batches.done_s[order]
    follows = np.flatnonzero(worker[1:] == worker[:-1]) + 1
    launched_s[follows] = np.maximum(launched_s[follows], done_s[follows - 1])
    return float((done_s - launched_s).sum())


def _endpoint_report(record: Record, mine: Mask, interval_s: float) -> EndpointReport:
    batches = record.batches
    batch, arrival_s, deadline_s = record.batch[mine], record.arrival_s[mine], record.deadline_s[mine]
    answered, done_s, accuracy = record.answered[mine], record.done_s[mine], record.accuracy[mine]
    by_several = bool((answered & (batch < 0)).any())
    variant = np.append(batches.variant, -1)[batch]
    in_time = done_s <= deadline_s
    batch_in_time = answered & _batches_in_time(record)[batch]
    counts = {name: int((variant == index).sum()) for index, name in _by_accuracy(record) if (variant == index).any()}
    latency_ms = (done_s - arrival_s)[answered] * 1e3
    bins = (arrival_s // interval_s).astype(np.intp)
    return EndpointReport(
        len(batch),
        int((~answered).sum()),
        _mean_pct(accuracy[in_time]),
        _mean_pct(~in_time),
        None if by_several else _mean_pct(accuracy[batch_in_time]),
        None if by_several else _mean_pct(~batch_in_time),
        float(answered.sum() / len(np.unique(batch[answered]))) if answered.any() and not by_several else None,
        dict(zip(("p50", "p95", "p99"), np.percentile(latency_ms, [50, 95, 99]).tolist(), strict=True))
        if answered.any()
        else None,
        {name: 100.0 * count / int(answered.sum()) for name, count in counts.items()},
        _series(bins, interval_s, accuracy, in_time, {n: variant == record.batches.variants.index(n) for n in counts}),
    )


def _batches_in_time(record: Record) -> Mask:
    """Whether each batch was done by the earliest deadline in it."""
    earliest_s = np.full(len(record.batches.done_s), np.inf)
    answered = record.batch >= 0
    np.minimum.at(earliest_s, record.batch[answered], record.deadline_s[answered])
    return np.append(record.batches.done_s <= earliest_s, False)


def _by_accuracy(record: Record) -> list[tuple[int, str]]:
    """Variants that ran, the most accurate first."""
    batches = record.batches
    accuracy = np.zeros(len(batches.variants))
    accuracy[batches.variant] = batches.accuracy
    return sorted(enumerate(batches.variants), key=lambda item: (-accuracy[item[0]], item[1]))


def _mean_pct(values: NDArray[Any]) -> float | None:
    return 100.0 * float(values.mean()) if len(values) else None


def _series(
    bins: NDArray[np.intp], interval_s: float, accuracy: Floats, in_time: Mask, of_variant: dict[str, Mask]
) -> Series:
    count = int(bins.max(initial=-1)) + 1
    arrivals = np.bincount(bins, minlength=count)

    def pct(part: NDArray[Any], whole: NDArray[Any]) -> list[float | None]:
        return [100.0 * float(p / w) if w else None for p, w in zip(part, whole, strict=True)]

    def sums(mask: Mask, weights: Floats | None = None) -> NDArray[Any]:
        return np.bincount(bins[mask], None if weights is None else weights[mask], minlength=count)

    per_variant = {name: sums(mask) for name, mask in of_variant.items()}
    answered = sum(per_variant.values(), np.zeros(count))
    return Series(
        [interval_s * index for index in range(count)],
        interval_s,
        (arrivals / interval_s).tolist(),
        pct(sums(in_time, accuracy), sums(in_time)),
        pct(sums(~in_time), arrivals),
        {name: pct(counts, answered) for name, counts in per_variant.items()},
    )
