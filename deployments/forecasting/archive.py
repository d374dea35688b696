"""Where forecasters come from, and where promoted ones are kept."""

import base64
import logging
from dataclasses import dataclass

import numpy as np

from catalog.errors import ArtifactError, StateUnavailable
from deployments.forecasting.training import TrainingRecord, in_one_thread
from deployments.state.store import StateStore
from forecast.artifact import Model, loads
from forecast.model_file import read
from forecast.series.series import LoadSeries

logger = logging.getLogger("ray.serve")

MOST_RECORDS = 30


@dataclass(frozen=True)
class KeptModels:
    """What is kept of an endpoint: the model that was promoted last, and what became of trainings, newest last."""

    promoted: bytes | None = None
    trainings: tuple[TrainingRecord, ...] = ()

    @property
    def newest(self) -> TrainingRecord | None:
        """The last training."""
        return self.trainings[-1] if self.trainings else None

    def after(self, record: TrainingRecord, promoted: bytes | None) -> "KeptModels":
        """With another training; the model stays where none was promoted."""
        return KeptModels(promoted or self.promoted, (*self.trainings, record)[-MOST_RECORDS:])

    def behind(self, before: "KeptModels") -> "KeptModels":
        """What was kept before and could not be read then, with these behind it."""
        return KeptModels(self.promoted or before.promoted, (*before.trainings, *self.trainings)[-MOST_RECORDS:])


def read_kept_models(store: StateStore, endpoint: str) -> KeptModels:
    """What is kept of an endpoint; what makes no sense is logged and left out; blocks. Raises `StateUnavailable`."""
    name = _document(endpoint)
    try:
        document = store.read(name) or {}
        model = document.get("model")
        trainings = tuple(TrainingRecord.from_record(record) for record in document.get("trainings", ()))
        return KeptModels(None if model is None else base64.b64decode(model, validate=True), trainings)
    except StateUnavailable:
        raise
    except Exception:
        logger.exception("Of the saved state, %r cannot be read; the controller begins without it.", name)
        return KeptModels()


def write_kept_models(store: StateStore, endpoint: str, kept_models: KeptModels) -> None:
    """Keep it; blocks."""
    model = None if kept_models.promoted is None else base64.b64encode(kept_models.promoted).decode()
    trainings = [record.to_record() for record in kept_models.trainings]
    store.write(_document(endpoint), {"model": model, "trainings": trainings})


def opened(content: bytes, where: str) -> Model:
    """A model that was kept, ready to forecast; raises `ArtifactError`."""
    return _ready(loads(content, where), where)


def fetched(where: str) -> Model:
    """The model of a file or URL, ready to forecast; blocks. Raises `ArtifactError`."""
    return _ready(read(where), where)


def _ready(model: Model, where: str) -> Model:
    """After a first forecast, which may take many times as long as others."""
    in_one_thread()
    forecaster, step_s = model.forecaster, model.card.step_s
    known = LoadSeries.regular(np.full(-(-forecaster.reach_s // step_s), 10.0), step_s=step_s)
    try:
        forecast = forecaster.predict(known, np.array([len(known)]))
    except Exception as error:
        raise ArtifactError(f"the forecaster {where} cannot forecast ({error!r}); train it anew") from error
    if not np.isfinite(forecast.quantiles).all():
        raise ArtifactError(f"the forecaster {where} forecasts loads that are no numbers; train it anew")
    return model


def _document(endpoint: str) -> str:
    return f"forecast/{endpoint}"
