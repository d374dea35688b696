"""Figures of some queries, and how long it took until a promise was kept again."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from serve_app.testing.queries import Queries

PROMISED_PCT = 1.0
"""Violations by the server's account that are within the promise."""

LEAST_REST_S = 2.0
"""Whether a promise is kept from an instant on is not told from less than this."""


@dataclass(frozen=True)
class Figures:
    """Percentages from 0 to 100; None where no answer tells.

    ``accuracy_pct`` is the share of right labels, ``variant_accuracy_pct`` the mean measured accuracy of the variants
    that answered, in which the luck of the labels that were drawn does not enter. Both are over all answers.
    """

    queries: int
    violations_server_pct: float | None
    violations_client_pct: float | None
    failed_pct: float | None
    accuracy_pct: float | None
    variant_accuracy_pct: float | None
    share_pct: dict[str, float]
    p50_ms: float | None
    p99_ms: float | None

    @classmethod
    def of(cls, queries: Queries, slo_ms: float) -> "Figures":
        """``slo_ms`` is the client's objective."""
        count = len(queries)
        answered = queries.where(~queries.failed)
        names = Counter(answered.variant.tolist())
        p50_ms, p99_ms = np.percentile(answered.latency_ms, [50, 99]).tolist() if len(answered) else (None, None)
        return cls(
            count,
            _pct(queries.violated),
            violations_client_pct=_pct(queries.violated_at_client(slo_ms)),
            failed_pct=_pct(queries.failed),
            accuracy_pct=_pct(answered.correct),
            variant_accuracy_pct=_pct(answered.accuracy),
            share_pct={name: 100.0 * number / len(answered) for name, number in names.most_common()},
            p50_ms=p50_ms,
            p99_ms=p99_ms,
        )

    @property
    def kept(self) -> bool | None:
        """Whether the server's violations are within the promise; None without queries."""
        return None if self.violations_server_pct is None else self.violations_server_pct <= PROMISED_PCT


def kept_again_s(queries: Queries, change_s: float, end_s: float) -> float | None:
    """Whole seconds from the change to the first instant from which on the promise is kept over all that is left.

    That is: over the queries meant to leave between that instant, or any later second, and ``end_s``, as long as
    `LEAST_REST_S` are left. 0 where it was never broken, None where it is broken at the end.
    """
    seconds = int(end_s - change_s - LEAST_REST_S + 1e-9)
    last_broken = -1
    for second in range(seconds + 1):
        rest = queries.intended_in([(change_s + second, end_s)])
        if len(rest) and 100.0 * rest.violated.mean() > PROMISED_PCT:
            last_broken = second
    return None if last_broken == seconds else float(last_broken + 1)


def _pct(values: np.ndarray[tuple[int, ...], np.dtype[np.float64 | np.bool_]]) -> float | None:
    """100 times the mean of what is known."""
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return 100.0 * float(known.mean()) if len(known) else None
