"""What clients of a service see."""

from typing import Any

from chaoslib.exceptions import ActivityFailed

from chaos.trial.bench import violation_rate
from chaos.trial.outcome import outcome as outcome_of
from chaos.trial.trial import current

__all__ = ["answered_share", "figure", "in_time_share", "outcome"]

CALM_S = 3.0


def in_time_share(share: float = 0.5, seconds: float = CALM_S) -> float:
    """Send ``share`` of what the service carries; gives the share of queries answered within the objective, 0 to 1."""
    bench = current().bench
    queries = bench.send(share * bench.carried_qps, seconds)
    return 1.0 - violation_rate(queries, bench.service.slo_ms)


def answered_share(share: float = 0.5, seconds: float = CALM_S) -> float:
    """Send ``share`` of what the service carries; gives the share of queries that were answered, 0 to 1."""
    bench = current().bench
    queries = bench.send(share * bench.carried_qps, seconds)
    return 1.0 - float(queries.failed.mean()) if len(queries) else 0.0


def outcome() -> dict[str, Any]:
    """Wait for the end of the load; gives its figures and series (`chaos.trial.outcome.outcome`)."""
    trial = current()
    if trial.load is None:
        raise ActivityFailed("no load is being sent; begin one with the action chaos.actions.load.begin_load")
    load, trial.load = trial.load, None
    queries = trial.bench.finish()
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
