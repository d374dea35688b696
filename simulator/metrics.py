"""The figures by which systems are compared; docs/metrics.md has a symbol and a formula for each."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.record import Record

Floats = NDArray[np.float64]

WINDOW_S = 10.0
"""Length of the windows in which the lowest accuracy and the peak are looked for (Proteus, section 6.1.4)."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Counts per window of ``length_s``, one entry each; a query belongs to the window in which it arrived.

    Windows start at 0, ``length_s``, ...; the last one is the window of the last arrival. ``answered`` has late answers
    too; ``violated`` are the queries answered late or not at all; ``accuracy_sum`` adds up the accuracy (0 to 1) of
    the answers.
    """

    length_s: float
    arrived: Floats
    answered: Floats
    violated: Floats
    accuracy_sum: Floats

    @classmethod
    def of(cls, record: Record, length_s: float) -> "Windows":
        """Count the queries of all endpoints."""
        window = (record.arrival_s // length_s).astype(np.intp)
        count = int(window.max(initial=-1)) + 1
        answered = record.answered
        accuracy = record.accuracy[answered]

        def counted(mask: NDArray[np.bool_], weights: Floats | None = None) -> Floats:
            return np.bincount(window[mask], weights, minlength=count).astype(np.float64)

        return cls(
            length_s,
            counted(np.ones(len(window), dtype=np.bool_)),
            counted(answered),
            counted(record.done_s > record.deadline_s),
            counted(answered, accuracy),
        )

    @property
    def start_s(self) -> Floats:
        """When each window begins."""
        return np.arange(len(self.arrived), dtype=np.float64) * self.length_s

    def with_whole_end(self, duration_s: float) -> "Windows":
        """The same where a last window of which the run of ``duration_s`` has less than half belongs to the one before.

        A run whose last query comes just as a window begins would else have a window of one query.
        """
        last = len(self.arrived) - 1
        if last < 1 or duration_s - last * self.length_s >= self.length_s / 2:
            return self

        def joined(counts: Floats) -> Floats:
            return np.append(counts[: last - 1], counts[last - 1 :].sum())

        counts = (self.arrived, self.answered, self.violated, self.accuracy_sum)
        return Windows(self.length_s, *map(joined, counts))

    @property
    def effective_accuracy_pct(self) -> Floats:
        """Mean accuracy of each window's answers, 0 to 100; NaN where there are none."""
        mean = np.full(len(self.answered), np.nan)
        np.divide(self.accuracy_sum, self.answered, out=mean, where=self.answered > 0)
        percent: Floats = 100.0 * mean
        return percent


@dataclass(frozen=True)
class Metrics:
    """One run over all endpoints (Proteus, section 6.1.4). Accuracies are in percent of each endpoint's best variant.

    Accuracies are None where nothing was answered, and rates 0 where nothing arrived after 0.
    """

    throughput_qps: float
    peak_throughput_qps: float
    effective_accuracy_pct: float | None
    max_accuracy_drop_pct: float | None
    slo_violation_ratio: float

    @classmethod
    def of(cls, record: Record) -> "Metrics":
        """Work the figures out; accuracies of candidates must be normalised already."""
        windows = Windows.of(record, WINDOW_S)
        duration_s = float(record.arrival_s.max(initial=0.0))
        arrived, answered = len(record.arrival_s), float(windows.answered.sum())
        window_s, whole = min(WINDOW_S, duration_s), windows.with_whole_end(duration_s)
        busiest = int(windows.arrived.argmax()) if arrived else 0
        return cls(
            answered / duration_s if duration_s else 0.0,
            float(windows.answered[busiest]) / window_s if window_s else 0.0,
            100.0 * float(windows.accuracy_sum.sum()) / answered if answered else None,
            100.0 - float(np.nanmin(whole.effective_accuracy_pct)) if answered else None,
            float(windows.violated.sum()) / arrived if arrived else 0.0,
        )

    def as_json(self) -> dict[str, float | None]:
        """The fields by name."""
        return asdict(self)
