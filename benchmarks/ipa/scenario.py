"""What the paper says of its pipelines, read from files."""

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt, TypeAdapter, ValidationError

from catalog.errors import ConfigError

FOLDER = Path(__file__).parents[2] / "configs" / "scenarios" / "ipa"

PIPELINES = ("video", "audio-qa", "audio-sent", "sum-qa", "nlp")
"""In the order of Table 6."""


T = TypeVar("T")


class Strict(BaseModel):
    """Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelRow(Strict):
    """One line of tables 7 to 14; ``measured`` is in percent."""

    params_m: PositiveFloat
    cores: PositiveInt
    measured: PositiveFloat


class Task(Strict):
    """One of tables 7 to 14."""

    measure: str
    threshold_qps: PositiveFloat
    variants: dict[str, ModelRow]
    lower_is_better: bool = False

    def accuracy(self, variant: str) -> float:
        """From 0 to 1, higher is better: 1 minus what is measured where lower is better."""
        measured = self.variants[variant].measured / 100.0
        return 1.0 - measured if self.lower_is_better else measured


class BatchRow(Strict):
    """Table 3: milliseconds by rows of a batch."""

    variant: str
    params_m: PositiveFloat
    cores: PositiveInt
    latency_ms: dict[int, PositiveFloat]


class Measured(Strict):
    """Tables 2 and 3."""

    over_cores: dict[str, dict[int, PositiveFloat]]
    over_batch: tuple[BatchRow, ...]
    same_family: tuple[tuple[str, str], ...]


class StageRow(Strict):
    """A stage's column of Table 6."""

    task: str
    slo_s: PositiveFloat


class PipelineFile(Strict):
    """A row of Table 6."""

    stages: tuple[StageRow, ...]

    @property
    def slo_s(self) -> float:
        """From arrival to answer (section 4.3: the sum over its stages)."""
        return sum(stage.slo_s for stage in self.stages)


class Scenario(Strict):
    """Everything: tasks and pipelines by name."""

    tasks: dict[str, Task]
    measured: Measured
    pipelines: dict[str, PipelineFile]

    def slo_s(self, task: str) -> float:
        """The least that Table 6 gives a task: two of them have other limits in other pipelines."""
        return min(stage.slo_s for each in self.pipelines.values() for stage in each.stages if stage.task == task)


def read_scenario(folder: Path = FOLDER) -> Scenario:
    """All files of a folder; raises `ConfigError` naming the file that cannot be used, and why."""
    tasks = _read(folder / "tasks.yaml", TypeAdapter(dict[str, Task]))
    measured = _read(folder / "measured.yaml", TypeAdapter(Measured))
    pipelines = {name: _read(folder / f"{name}.yaml", TypeAdapter(PipelineFile)) for name in PIPELINES}
    for name, pipeline in pipelines.items():
        if unknown := [stage.task for stage in pipeline.stages if stage.task not in tasks]:
            raise ConfigError(
                f"{folder / name}.yaml: no task {', '.join(unknown)} in tasks.yaml; known are {', '.join(tasks)}"
            )
    return Scenario(tasks=tasks, measured=measured, pipelines=pipelines)


def _read(path: Path, kind: TypeAdapter[T]) -> T:
    try:
        return kind.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; give the folder of the scenario files") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {error}; correct it") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{path}, {where}: {first['msg']}, it is {first['input']!r}; correct it") from error
