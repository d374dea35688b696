"""From what came back of a load to what a fault cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaos.trial.bench import Bench
from chaos.trial.trial import Mark
from serve_app.loadgen.client import WRONG_ANSWER
from serve_app.testing.queries import Floats, Queries

WINDOW_S = 1.0
BAD_RATE, BAD_QUERIES = 0.1, 2
"""A window is bad where more of its queries than this beyond what was usual, and so many of them, or all where it has
fewer, failed or were late. One without queries is as the one before it."""

GOOD_WINDOWS = 5
"""So many in a row, and it has recovered; what is bad later has other reasons, and is counted all the same."""

TIMED_OUT = "timeout"
AT_ONCE_S = 0.05
"""A query that left so soon after a fault was on its way before it was known."""


def outcome(bench: Bench, queries: Queries, begin_s: float, seconds: float, marks: Sequence[Mark]) -> dict[str, Any]:
    """Figures and series of one load that began at ``begin_s`` of the monotonic clock.

    ``sent`` queries were ``answered`` (200), ``failed`` (an error, or a connection that broke, which the client learns
    at once) or ``unanswered`` (neither until the client gave up). ``duplicated`` got the answer to another query.
    ``late`` is by the client's clock. ``in_hand`` had been sent and not answered at the first fault, and
    ``failed_beyond_hand`` failed without being of these. ``recovered_s`` runs from the last fault until
    `GOOD_WINDOWS` good ones began; None where they did not.
    """
    slo_ms = bench.service.slo_ms
    faults_s = [mark.at_s for mark in marks if mark.fault]
    first_s = min(faults_s, default=begin_s + seconds)
    last_s = max(faults_s, default=begin_s + seconds)
    wrong = queries.kind == WRONG_ANSWER
    unanswered = queries.kind == TIMED_OUT
    failed = queries.failed & ~unanswered
    violated = queries.violated_at_client(slo_ms)
    in_hand = (queries.sent_s <= first_s + AT_ONCE_S) & (queries.done_s > first_s)
    after = ~queries.failed & (queries.intended_s >= first_s)
    refused = queries.status == 503
    kinds = Counter(kind for kind in queries.kind.tolist() if kind)
    return {
        "sent": len(queries),
        "answered": int((~queries.failed).sum()),
        "failed": int(failed.sum()),
        "late": int((~queries.failed & (queries.latency_ms > slo_ms)).sum()),
        "late_by_server": int(queries.late.sum()),
        "duplicated": int(wrong.sum()),
        "unanswered": int(unanswered.sum()),
        "failed_share": float(queries.failed.mean()),
        "accuracy_loss_points": accuracy_loss_points(bench, queries, first_s),
        "recovered_s": recovered_s(queries.intended_s, violated, first_s, last_s, begin_s + seconds),
        "in_hand": int(in_hand.sum()),
        "failed_beyond_hand": int((queries.failed & ~in_hand).sum()),
        "longest_wait_ms": float(queries.latency_ms[after].max()) if after.any() else None,
        "refused": int(refused.sum()),
        "refused_without_retry_after": int((refused & ~queries.retry_after).sum()),
        "not_found": int((queries.status == 404).sum()),
        "errors": dict(kinds),
        "load_qps": len(queries) / seconds,
        "slo_ms": slo_ms,
        "seconds": seconds,
        "marks": [{"at_s": mark.at_s - begin_s, "text": mark.text, "fault": mark.fault} for mark in marks],
        "series": series(queries, violated, begin_s, seconds),
    }


def accuracy_loss_points(bench: Bench, queries: Queries, first_s: float) -> float | None:
    """How much less often answers after ``first_s`` were right than the best that the service has for the same items.

    In points; None where nothing is known of them.
    """
    during = ~np.isnan(queries.correct) & (queries.intended_s >= first_s)
    if not during.any():
        return None
    best = bench.service.right[bench.rows_of(queries)[during]]
    return 100.0 * float(np.mean(best - queries.correct[during]))


def recovered_s(
    intended_s: Floats, violated: NDArray[np.bool_], first_s: float, last_s: float, end_s: float
) -> float | None:
    """Seconds from the last fault until the service answers as before for a while; 0 where that did not change."""
    before = intended_s < first_s
    usual = float(violated[before].mean()) if before.any() else 0.0
    edges_s = np.arange(last_s, end_s, WINDOW_S)
    bad = list[bool]()
    for start_s in edges_s[:-1]:
        window = (intended_s >= start_s) & (intended_s < start_s + WINDOW_S)
        sent, count = int(window.sum()), int(violated[window].sum())
        if sent:
            bad.append(count >= min(BAD_QUERIES, sent) and count > (usual + BAD_RATE) * sent)
        else:
            bad.append(bool(bad) and bad[-1])
    for number in range(len(bad) - GOOD_WINDOWS + 1):
        if not any(bad[number : number + GOOD_WINDOWS]):
            return number * WINDOW_S
    return None


def series(queries: Queries, violated: NDArray[np.bool_], begin_s: float, seconds: float) -> Mapping[str, Any]:
    """By window of the load: queries sent, answered, and violating, and how many of those answered were right."""
    edges_s = begin_s + np.arange(0.0, seconds + WINDOW_S, WINDOW_S)
    known = ~np.isnan(queries.correct)

    def counts(chosen: NDArray[np.bool_], at_s: Floats = queries.intended_s) -> list[int]:
        return [int(count) for count in np.histogram(at_s[chosen], edges_s)[0]]

    return {
        "window_s": WINDOW_S,
        "sent": counts(np.ones(len(queries), dtype=np.bool_)),
        "answered": counts(~queries.failed, queries.done_s),
        "violated": counts(violated),
        "failed": counts(queries.failed),
        "judged": counts(known),
        "right": counts(known & (queries.correct == 1.0)),
    }
