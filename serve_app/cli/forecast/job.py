"""What ``accord forecast train`` is to do: the options of the command, those of a file where the command names none."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, date, datetime
from math import nan
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from catalog.errors import ConfigError
from catalog.faults import describe
from catalog.yaml_file import read_yaml
from forecast.registry import NAMES
from forecast.training.task import ForecastTask, Point, Statistic
from forecast.training.training import HOLD_OUT

EARLIEST_S, LATEST_S = -62_135_596_800, 32_503_680_000
"""Years 1 to 2999: later ones have no calendar once a series is added to them."""

REQUIRED = {"series": "FILE_OR_URL", "model": "NAME", "out": "FILE_OR_URL"}


class TrainJob(BaseModel):
    """One training. Paths are relative to the working directory; ``start`` is of a series without times."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    series: str
    endpoint: str | None = None
    step_s: int = Field(default=1, ge=1)
    start: str | None = None
    zeros_are_gaps: bool = False
    model: str
    context_s: int = ForecastTask.context_s
    window_s: int = ForecastTask.window_s
    lead_s: int = ForecastTask.lead_s
    block_s: int = ForecastTask.block_s
    memory_s: int = ForecastTask.memory_s
    statistic: Statistic = ForecastTask.statistic
    point: Point = ForecastTask.point
    hold_out: float = Field(default=HOLD_OUT, ge=0, lt=1)
    seed: int = Field(default=0, ge=0, le=2**32 - 1)  # what scikit-learn takes
    checkpoint: Path | None = None
    out: str

    @field_validator("model")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in NAMES:
            raise ValueError(f"forecaster {value!r} is not known; known are {', '.join(NAMES)}")
        return value

    @field_validator("start", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """YAML makes instants of what looks like one, and numbers of seconds."""
        return value.isoformat() if isinstance(value, date) else None if value is None else str(value)

    @property
    def task(self) -> ForecastTask:
        """What is to be forecast."""
        return ForecastTask(**{each.name: getattr(self, each.name) for each in fields(ForecastTask)})

    @property
    def start_s(self) -> int | None:
        """Seconds since the epoch, None where nothing is said."""
        return None if self.start is None else int(parse_instant(self.start, "start"))


def read_job(given: Mapping[str, Any], config: Path | None) -> TrainJob:
    """The options that were ``given``, where not None, over those of a file; raises `ConfigError`."""
    written = {} if config is None else _content(config)
    unknown = [str(key) for key in written if key not in TrainJob.model_fields]
    if unknown:
        raise ConfigError(
            f"{config} has {', '.join(unknown)}, which is no option; known are {', '.join(TrainJob.model_fields)}"
        )
    options = written | {key: value for key, value in given.items() if value is not None}
    for key, kind in REQUIRED.items():
        if options.get(key) is None:
            raise ConfigError(f"there is no {key}; give --{key} {kind}, or {key}: in the file of --config")
    try:
        return TrainJob.model_validate(options)
    except ValidationError as error:
        of = "the options" if config is None else f"{config} and the options"
        raise ConfigError(f"{of}: {describe(error, TrainJob)}") from error


def parse_instant(text: str, option: str) -> float:
    """Seconds since the epoch, written as such or in ISO 8601 (UTC where no zone is given); raises `ConfigError`."""
    try:
        at_s = float(text)
    except ValueError:
        at_s = _of_calendar(text)
    if not EARLIEST_S <= at_s < LATEST_S:
        raise ConfigError(
            f"{option} {text!r} is no instant of the years 1 to 2999; give seconds since the epoch, or ISO 8601 as in "
            "2026-01-31T13:00:00Z"
        )
    return at_s


def _of_calendar(text: str) -> float:
    """NaN where the text is no instant."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return nan
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _content(config: Path) -> dict[str, Any]:
    content = read_yaml(config, str(config), "the path of a file of options")
    if not isinstance(content, dict):
        raise ConfigError(f"{config} must hold options, as in configs/jobs/train_forecaster.yaml, not {content!r}")
    return content
