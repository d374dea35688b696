"""A training of a forecaster on the load that the controller has kept; runs in a process of its own."""

import sys
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from catalog.errors import BadSeries
from deployments.forecasting.choice import length
from deployments.state.load_history import kept_series
from deployments.state.store import StateStore
from forecast.artifact import Model, ModelCard, loads
from forecast.registry import make
from forecast.series.series import LoadSeries
from forecast.training.promotion import judge
from forecast.training.task import ForecastTask

LEAST_HISTORY_S = 23 * 3600
"""Load has the rhythm of a day; from much less, a model would learn that mornings go on for ever.

An hour less than a day, so that a history of one day is enough where minutes of it were not observed.
"""

HELD_OUT_SHARE = 0.2
MOST_HELD_OUT_S = 86_400
"""The newest part of the history judges the model: a fifth of it, up to a day."""


@dataclass(frozen=True)
class TrainingRequest:
    """What to train, on the load from ``from_s`` to ``until_s``, in seconds since the epoch.

    ``incumbent`` is the content of the model to beat, None where none serves.
    """

    endpoint: str
    model: str
    task: ForecastTask
    from_s: float
    until_s: float
    incumbent: bytes | None


@dataclass(frozen=True)
class TrainingRecord:
    """What became of a training. ``learned_s`` and ``held_out_s`` are from and until when, in seconds since the epoch.

    ``scores`` are those of the candidate, of the simple forecaster and of the one that served; none where the training
    failed, for the reason ``why``.
    """

    at_s: float
    model: str
    horizon_s: int
    promoted: bool
    why: str
    took_s: float = 0.0
    learned_s: tuple[int, int] | None = None
    held_out_s: tuple[int, int] | None = None
    scores: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether there was no candidate."""
        return not self.scores

    def to_record(self) -> dict[str, Any]:
        """In JSON values."""
        return asdict(self)

    @staticmethod
    def from_record(record: dict[str, Any]) -> "TrainingRecord":
        """Of `to_record`; fields that are not known yet are left out."""
        return TrainingRecord(**{own.name: record[own.name] for own in fields(TrainingRecord) if own.name in record})


@dataclass(frozen=True)
class Trained:
    """What a training came to; ``model`` has the content of the candidate where it is better than what served."""

    record: TrainingRecord
    model: bytes | None


def train(store: StateStore, request: TrainingRequest) -> Trained:
    """Fit a candidate on all but the newest load and compare it there with what serves; blocks, for minutes.

    Raises `BadSeries` where there is too little history.
    """
    series = kept_series(store, request.from_s, request.until_s).get(request.endpoint)
    known_s = 0 if series is None else len(series)
    if series is None or known_s < LEAST_HISTORY_S:
        raise BadSeries(
            f"{length(known_s)} of load are known, {length(LEAST_HISTORY_S)} are needed; wait for "
            f"{length(LEAST_HISTORY_S - known_s)} more"
        )
    held_out_from_s = _held_out_from_s(series)
    learned = series.slice(0, series.position(held_out_from_s))
    candidate = make(request.model, request.task)
    in_one_thread()
    candidate.fit(learned)
    incumbent = None if request.incumbent is None else loads(request.incumbent, "the model that serves").forecaster
    verdict = judge(candidate, incumbent, series, held_out_from_s)
    record = TrainingRecord(
        request.until_s,
        request.model,
        request.task.horizon_s,
        verdict.promoted,
        verdict.words,
        learned_s=(learned.start_s, learned.end_s),
        held_out_s=(verdict.from_s, verdict.until_s),
        scores=verdict.to_record(),
    )
    card = ModelCard(
        request.model,
        request.task,
        series.step_s,
        learned.start_s,
        learned.end_s,
        request.until_s,
        verdict.candidate.to_record(),
        {"by": "the controller", "endpoint": request.endpoint},
    )
    return Trained(record, Model(candidate, card).to_bytes() if verdict.promoted else None)


def in_one_thread() -> None:
    """Have torch compute in one thread, where it is in use: it stands beside workers that have better to do."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


def _held_out_from_s(series: LoadSeries) -> int:
    steps = min(MOST_HELD_OUT_S, int(len(series) * HELD_OUT_SHARE)) // series.step_s
    return int(series.times_s[len(series) - steps])
