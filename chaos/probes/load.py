"""What clients of a service see."""

from collections.abc import Sequence
from typing import Any

from chaoslib.exceptions import ActivityFailed

from chaos.trial.bench import Bench, violation_rate
from chaos.trial.outcome import outcome as outcome_of
from chaos.trial.trial import Mark, current
from serve_app.testing.queries import Queries
from serve_app.testing.sender import Load

__all__ = ["answered_share", "figure", "in_time_share", "outcome"]

CALM_S = 3.0
CALM_QUERIES = 10.0
"""A low load is sent for longer, until it has about so many queries."""


def in_time_share(share: float = 0.5, seconds: float = CALM_S) -> float:
    """Send ``share`` of what the service carries; gives the share of queries answered within the objective, 0 to 1."""
    bench = current().bench
    return 1.0 - violation_rate(_sent(bench, share, seconds), bench.service.slo_ms)


def answered_share(share: float = 0.5, seconds: float = CALM_S) -> float:
    """Send ``share`` of what the service carries; gives the share of queries that were answered, 0 to 1."""
    queries = _sent(current().bench, share, seconds)
    return 1.0 - float(queries.failed.mean()) if len(queries) else 0.0


def outcome() -> dict[str, Any]:
    """Wait for the end of the load; gives its figures and series (`chaos.trial.outcome.outcome`).

    Raises ActivityFailed where the load tells nothing of the faults: it had no query, or ended before one of them.
    """
    trial = current()
    if trial.load is None:
        raise ActivityFailed("no load is being sent; begin one with the action chaos.actions.load.begin_load")
    load, trial.load = trial.load, None
    queries = trial.bench.finish()
    _check_load(load, len(queries), [mark for mark in trial.marks if mark.fault])
    trial.outcome = outcome_of(trial.bench, queries, load.begin_s, load.duration_s, trial.marks)
    trial.outcome["restored_s"] = trial.restored_s
    return trial.outcome


def figure(name: str, otherwise: float = 0.0) -> float:
    """A figure of the last outcome, ``otherwise`` before there is one, and infinity where it is unknown."""
    told = current().outcome
    if told is None:
        return otherwise
    if name not in told:
        raise ActivityFailed(f"figure {name!r} is unknown; the figures of an outcome are {', '.join(told)}")
    value = told[name]
    return float("inf") if value is None else float(value)


def _sent(bench: Bench, share: float, seconds: float) -> Queries:
    """What came back of a share of what the service carries, sent until there are some queries."""
    load_qps = share * bench.carried_qps
    return bench.send(load_qps, max(seconds, CALM_QUERIES / load_qps))


def _check_load(load: Load, sent: int, faults: Sequence[Mark]) -> None:
    if not sent:
        raise ActivityFailed(f"no query was sent in {load.duration_s:g} s; let the load go on for longer (load_s)")
    for fault in faults:
        at_s = fault.at_s - load.begin_s
        if at_s >= load.duration_s:
            raise ActivityFailed(
                f"{fault.text!r} came {at_s:.1f} s after the load began, which ended after {load.duration_s:g} s; let "
                "the load go on for longer (load_s)"
            )
