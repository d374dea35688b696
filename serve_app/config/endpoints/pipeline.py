"""``pipeline`` of an endpoint: tasks that follow one another."""

import re

from pydantic import Field, field_validator, model_validator

from serve_app.config.strict import Name, Strict

FUNCTION = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")
TENSOR = re.compile(r"^[^.\s]+\.[^\s]+$")

TENSORS = "name to `STAGE.TENSOR`, or `query.TENSOR` for what the client sent"


def _function(value: str) -> str:
    if not FUNCTION.match(value):
        raise ValueError(f"{value!r} names no function; write module:function, such as my_module:crop")
    return value


def _tensors(value: dict[str, str]) -> dict[str, str]:
    for name, source in value.items():
        if not TENSOR.match(source):
            raise ValueError(
                f"{name} takes {source!r}; write STAGE.TENSOR, such as find.boxes, or query.TENSOR for what the client "
                "sent"
            )
    return value


class ConditionConfig(Strict):
    """A function that says whether a stage runs."""

    call: str = Field(description="where it stands, as `module:function`; it is declared with `@condition`")
    inputs: dict[str, str] = Field(min_length=1, description=f"what it is given: {TENSORS}")

    _is_function = field_validator("call")(_function)
    _are_tensors = field_validator("inputs")(_tensors)


class StageConfig(Strict):
    """One task of a pipeline."""

    task: str = Field(description="which variants may run it")
    inputs: dict[str, str] = Field(min_length=1, description=f"what its variants, or its adapter, are given: {TENSORS}")
    adapter: str | None = Field(
        default=None,
        description="a function that makes the variants' inputs, as `module:function`; it is declared with `@adapter`, "
        "and may give more or fewer rows than it got, such as one for each object in an image",
    )
    when: ConditionConfig | None = Field(default=None, description="run the stage only where this is true")
    unless: ConditionConfig | None = Field(default=None, description="run the stage only where this is false")
    variants: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="names of the task's variants to keep to; `null`: all"
    )
    rows_per_job: int = Field(
        default=1, ge=1, description="rows of one query that go to a worker together; 1 spreads them most evenly"
    )

    _is_function = field_validator("adapter")(lambda value: value if value is None else _function(value))
    _are_tensors = field_validator("inputs")(_tensors)

    @model_validator(mode="after")
    def _one_condition(self) -> "StageConfig":
        if self.when is not None and self.unless is not None:
            raise ValueError("when and unless are both given; give one of them")
        return self


class AnswerConfig(Strict):
    """What clients get."""

    adapter: str | None = Field(
        default=None, description="a function that makes it, as `module:function`, with as many rows as the query has"
    )
    inputs: dict[str, str] = Field(min_length=1, description=f"what it is made from: {TENSORS}")

    _is_function = field_validator("adapter")(lambda value: value if value is None else _function(value))
    _are_tensors = field_validator("inputs")(_tensors)


class PipelineConfig(Strict):
    """Tasks that follow one another: a graph of stages without a cycle."""

    stages: dict[Name, StageConfig] = Field(min_length=1, description="name to stage")
    answer: AnswerConfig | None = Field(
        default=None,
        description="what clients get; `null`: the outputs of the only stage that no other takes anything from",
    )
    accuracy: str | None = Field(
        default=None,
        description="a CSV of measured accuracies of whole pipelines: a column for each stage, with names of variants, "
        "and `accuracy`, 0 to 1 (a `.csv`, relative to where the service is started, or a name under the catalogue's "
        "`pipelines`); `null`: the product of the variants' accuracies",
    )
