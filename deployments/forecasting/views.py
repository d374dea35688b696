"""What people see of the forecasters."""

from typing import Any

from deployments.forecasting.choice import ForecasterChoice
from deployments.forecasting.training import TrainingRecord
from deployments.state.decisions import iso

WITHOUT_MODEL = "moving_maximum"
"""Who serves where no forecaster does: `autoscaler.demand.demand.MovingMaximum`."""


def choice_view(choice: ForecasterChoice, ahead_s: int, forecast_qps: float | None) -> dict[str, Any]:
    """Who serves, in JSON values: a model with what is known of it, or nobody and why.

    ``ahead_s`` is how far is to be looked ahead, ``forecast_qps`` what was forecast last.
    """
    if choice.model is None:
        return {
            "model": WITHOUT_MODEL,
            "why": choice.why,
            "trained_until": None,
            "scores": {},
            "horizon_s": ahead_s,
            "forecast_qps": None,
        }
    card, reach_s = choice.model.card, choice.model.forecaster.reach_s
    waits = f"it looks {reach_s} s back, and less of the recent load is known yet" if forecast_qps is None else None
    return {
        "model": card.name,
        "why": waits,
        "trained_until": iso(card.trained_until_s),
        "scores": card.scores,
        "horizon_s": card.task.horizon_s,
        "forecast_qps": forecast_qps,
    }


def training_view(record: TrainingRecord | None) -> dict[str, Any] | None:
    """What became of a training, in JSON values."""
    if record is None:
        return None
    return {
        "at": iso(record.at_s),
        "model": record.model,
        "horizon_s": record.horizon_s,
        "promoted": record.promoted,
        "why": record.why,
        "took_s": record.took_s,
        "learned": _span(record.learned_s),
        "held_out": _span(record.held_out_s),
        "scores": record.scores,
    }


def _span(span_s: tuple[int, int] | None) -> list[str] | None:
    return None if span_s is None else [iso(at_s) for at_s in span_s]
