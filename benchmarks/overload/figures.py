"""What the queries of a load came to, by the client's clock."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.overload.sent import Sent

OK, GIVEN_UP = 200, 504
REFUSED = (429, 503)
STEADY, IN_A_ROW = 0.95, 5
"""A second counts as normal service where so many of its queries are answered in time, and service as recovered where
so many seconds in a row do, as in chaos experiments. Later ones are not of what was before: a single late batch of 64
is 3.5% of a second at 1,800/s, and where variants are chosen to be done just in time one in eighty is late."""

BIN_S = 5.0

OVERTIME_S = 0.5
"""A query that the client sent so much later than a load ended still counts as offered by it; later ones do not."""


def in_time(sent: Sent, slo_s: float) -> NDArray[np.bool_]:
    """Answered with 200 within the objective, from the instant at which the query was to be sent."""
    found: NDArray[np.bool_] = (sent.status == OK) & (sent.latency_s <= slo_s)
    return found


def goodput_qps(sent: Sent, slo_s: float, duration_s: float) -> float:
    """Queries in time per second."""
    return float(in_time(sent, slo_s).sum() / duration_s)


def figures(sent: Sent, slo_s: float, duration_s: float) -> dict[str, Any]:
    """All about one load, ready for JSON."""
    ok = sent.status == OK
    accepted = ok | (sent.status == GIVEN_UP)  # what was let in and then given up late counts against the service
    refused = np.isin(sent.status, REFUSED)
    statuses, counts = np.unique(sent.status, return_counts=True)
    good = in_time(sent, slo_s)
    return {
        "offered_qps": float((sent.sent_s <= duration_s + OVERTIME_S).sum() / duration_s),
        "accepted_qps": float(accepted.sum() / duration_s),
        "goodput_qps": goodput_qps(sent, slo_s, duration_s),
        "goodput_qps_by_5_s": _binned_qps(sent.intended_s[good], duration_s),
        "accepted_in_time_pct": _pct(good.sum(), accepted.sum()),
        "in_time_of_all_pct": _pct(good.sum(), len(ok)),
        "seconds_below_95_pct": _seconds_below(sent, slo_s, duration_s),
        "answered_ms": _quantiles_ms(sent.latency_s[ok]),
        "answered_from_sent_ms": _quantiles_ms((sent.done_s - sent.sent_s)[ok]),
        "refused_ms": _quantiles_ms(sent.latency_s[refused]),
        "refused_from_sent_ms": _quantiles_ms((sent.done_s - sent.sent_s)[refused]),
        "client_lag_ms": _quantiles_ms(sent.lag_s[~np.isnan(sent.lag_s)]),
        "client_cores": sent.cpu_s / duration_s,
        "client_connections": sent.connections,
        "answers": {str(status) if status else "none": int(n) for status, n in zip(statuses, counts, strict=True)},
    }


def recovered_s(sent: Sent, slo_s: float, duration_s: float) -> float | None:
    """Seconds into a load until the first of `IN_A_ROW` seconds of normal service, from which on the rest of the load
    is normal as a whole; None where there are none such."""
    bad, good = set(_seconds_below(sent, slo_s, duration_s)), in_time(sent, slo_s)
    for second in range(int(duration_s) - IN_A_ROW + 1):
        in_a_row = not any(second + each in bad for each in range(IN_A_ROW))
        if in_a_row and good[sent.intended_s >= second].mean() >= STEADY:
            return float(second)
    return None


def _seconds_below(sent: Sent, slo_s: float, duration_s: float) -> list[int]:
    """The seconds without normal service; one in which nothing was asked is normal."""
    seconds, good = sent.intended_s.astype(int), in_time(sent, slo_s)
    here = ((second, seconds == second) for second in range(int(duration_s)))
    return [second for second, asked in here if asked.any() and good[asked].mean() < STEADY]


def _binned_qps(intended_s: NDArray[np.float64], duration_s: float) -> list[float]:
    whole = int(duration_s / BIN_S)
    counts = np.bincount((intended_s / BIN_S).astype(int), minlength=whole)[:whole]
    return [float(count / BIN_S) for count in counts]


def _pct(part: float, whole: float) -> float | None:
    return None if whole == 0 else float(100 * part / whole)


def _quantiles_ms(values_s: NDArray[np.float64]) -> dict[str, float] | None:
    if not len(values_s):
        return None
    return {f"p{share}": float(np.percentile(values_s, share) * 1e3) for share in (50, 95, 99)}
