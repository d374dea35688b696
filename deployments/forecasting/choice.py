"""Which forecaster may serve an endpoint, and why another may not."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from deployments.messages.control_settings import ControlSettings, ForecastSettings
from deployments.state.start_ups import StartUps
from forecast.artifact import Model
from forecast.training.task import ForecastTask

STEP_S = 1
"""Load is counted second by second."""

BLOCK_S = 10
LEAST_CONTEXT_S = 120

MEMORY_S = 6 * 3600
"""Of surges, for forecasters that remember them."""

KEPT_S = 86_400
"""So much of the recent load is at hand: no forecaster may look further back."""


@dataclass(frozen=True)
class ForecasterChoice:
    """Who forecasts for an endpoint: ``model``, or nobody, because of ``why``."""

    model: Model | None
    why: str | None


def horizon_s(settings: ControlSettings, forecast: ForecastSettings, start_ups: StartUps) -> int:
    """How far ahead must be known, in whole blocks: a worker asked for at the next plan is there only then."""
    wanted_s = forecast.horizon_s
    if wanted_s is None:
        starts_s = (max(pool.start_up_s, start_ups.longest_s(name)) for name, pool in settings.pools.items())
        wanted_s = max(starts_s) + settings.interval_s
    return max(1, ceil(wanted_s / BLOCK_S - 1e-9)) * BLOCK_S


def task_of(ahead_s: int) -> ForecastTask:
    """The highest load from now on for so long: from as much of the past, and at least IPA's two minutes."""
    return ForecastTask(context_s=max(LEAST_CONTEXT_S, ahead_s), window_s=ahead_s, block_s=BLOCK_S, memory_s=MEMORY_S)


def choose(models: Sequence[Model], ahead_s: int, max_age_s: float, now_s: float) -> ForecasterChoice:
    """Of the models that may serve the one that knows the newest load; there is at least one model."""
    newest_first = sorted(models, key=lambda model: model.card.trained_until_s, reverse=True)
    reasons = [why_not(model, ahead_s, max_age_s, now_s) for model in newest_first]
    for model, reason in zip(newest_first, reasons, strict=True):
        if reason is None:
            return ForecasterChoice(model, None)
    return ForecasterChoice(None, reasons[0])


def why_not(model: Model, ahead_s: int, max_age_s: float, now_s: float) -> str | None:
    """Why a model may not serve; None where it may."""
    card, task = model.card, model.card.task
    if card.step_s != STEP_S:
        return f"model {card.name} was trained on steps of {card.step_s} s, and load is counted in steps of {STEP_S} s"
    if task.statistic != "max" or task.lead_s:
        return (
            f"model {card.name} forecasts the {task.statistic} from {task.lead_s} s ahead on, and plans are made for "
            "the max from now on"
        )
    if task.horizon_s < ahead_s:
        return f"model {card.name} looks {task.horizon_s} s ahead, and {ahead_s} s are needed"
    if model.forecaster.reach_s > KEPT_S:
        return f"model {card.name} looks {model.forecaster.reach_s} s back, and {KEPT_S} s are at hand"
    age_s = now_s - card.trained_until_s
    if age_s > max_age_s:
        return f"model {card.name} is {length(age_s)} old, more than the {length(max_age_s)} of max_age_s"
    return None


def length(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds >= 2 * 86_400:
        return f"{seconds / 86_400:.3g} days"
    if seconds >= 2 * 3600:
        return f"{seconds / 3600:.3g} h"
    return f"{seconds:.0f} s"
