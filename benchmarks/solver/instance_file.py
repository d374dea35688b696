"""An instance of IPA's program in a JSON file; the form is in docs/ipa-planner.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

import orjson

from autoscaler.planners.ipa.problem import IpaOptions, Option, PipelineProblem, StageProblem, Workers
from autoscaler.planners.ipa.solution import Active, Solution
from catalog.errors import ConfigError
from dispatch.selection.policy import Candidate

MOST_ROWS = 65_536
"""Of a batch."""

LARGEST = 1e15
"""Of a number: the solver takes no larger ones."""


@dataclass(frozen=True)
class Instance:
    """What a file asks to be solved."""

    pipelines: tuple[PipelineProblem, ...]
    options: IpaOptions = field(default_factory=IpaOptions)
    workers: Workers = field(default_factory=Workers)


def read_instance(path: Path) -> Instance:
    """Read an instance; raises `ConfigError` that says where in the file what is wrong."""
    try:
        body = orjson.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot read instance {path}: {error.strerror}; name a JSON file") from error
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"instance {path} is no JSON: {error}; see docs/ipa-planner.md for its form") from error
    try:
        return instance_of(body)
    except ConfigError as error:
        raise ConfigError(f"instance {path}: {error}") from error


def instance_of(body: Any) -> Instance:
    """An instance as parsed from JSON."""
    own = _Fields(body, "the file", ("pipelines", "options", "workers"))
    pipelines = tuple(_pipeline(each, f"pipelines[{number}]") for number, each in enumerate(own.sequence("pipelines")))
    if not pipelines:
        raise ConfigError("pipelines is empty; give at least one pipeline")
    limits = own.mapping("workers")
    for device, limit in limits.items():
        if not isinstance(limit, int) or isinstance(limit, bool):
            raise ConfigError(f"workers.{device} is {limit!r}; give a whole number from 0")
    return Instance(pipelines, _options(own.mapping("options")), Workers(limits))


def written(instance: Instance, solution: Solution) -> dict[str, Any]:
    """A solution for people and programs to read."""
    return {
        "status": solution.status.value,
        "objective": solution.objective if isfinite(solution.objective) else None,
        "gap": solution.gap,
        "solve_s": solution.solve_s,
        "pipelines": {
            problem.name: {
                "served_qps": own.served_qps,
                "load_qps": problem.load_qps,
                "accuracy": own.accuracy,
                "cost": own.cost,
                "latency_s": own.latency_s,
                "slo_s": problem.slo_s,
                "stages": {name: [_active(each) for each in actives] for name, actives in own.stages.items()},
            }
            for problem in instance.pipelines
            if (own := solution.pipelines.get(problem.name)) is not None
        },
        "explanation": list(solution.explanation),
    }


# -- inner steps ----------------------------------------------------------------------------------------------


def _active(own: Active) -> dict[str, Any]:
    return {
        "variant": own.variant,
        "device": own.device,
        "batch_rows": own.batch_rows,
        "replicas": own.replicas,
        "share": own.share,
        "cost": own.cost,
        "run_s": own.run_s,
        "wait_s": own.wait_s,
        "capacity_qps": own.capacity_qps,
    }


class _Fields:
    """The fields of a JSON object, with where it stands for what is said of them."""

    def __init__(self, body: Any, where: str, known: Sequence[str]) -> None:
        if not isinstance(body, dict):
            raise ConfigError(f"{where} is {_shown(body)}; give an object with {', '.join(known)}")
        for name in body:
            if name not in known:
                raise ConfigError(f"{where} has a field {name!r}; use {', '.join(known)}")
        self._body = body
        self._where = where

    def text(self, name: str, default: str | None = None) -> str:
        value = self._value(name, default, "a text")
        if not isinstance(value, str):
            raise ConfigError(f"{self._where}.{name} is {_shown(value)}; give a text")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        return _number(self._value(name, default, "a number"), f"{self._where}.{name}")

    def sequence(self, name: str, default: Sequence[Any] | None = None) -> Sequence[Any]:
        value = self._value(name, default, "a list")
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{self._where}.{name} is {_shown(value)}; give a list")
        return value

    def mapping(self, name: str, *, required: bool = False) -> Mapping[str, Any]:
        value = self._value(name, None if required else {}, "an object")
        if not isinstance(value, dict):
            raise ConfigError(f"{self._where}.{name} is {_shown(value)}; give an object")
        return value

    def _value(self, name: str, default: Any, wanted: str) -> Any:
        value = self._body.get(name, default)
        if value is None:
            raise ConfigError(f"{self._where} has no {name}; give {wanted}")
        return value


def _pipeline(body: Any, where: str) -> PipelineProblem:
    own = _Fields(body, where, ("name", "slo_s", "load_qps", "stages", "measured_accuracy"))
    stages: list[StageProblem] = []
    for number, each in enumerate(own.sequence("stages")):
        stages.append(_stage(each, f"{where}.stages[{number}]", stages[-1].name if stages else None))
    table = {}
    for number, each in enumerate(own.sequence("measured_accuracy", ())):
        at = f"{where}.measured_accuracy[{number}]"
        row = _Fields(each, at, ("variants", "accuracy"))
        table[tuple(str(variant) for variant in row.sequence("variants"))] = row.number("accuracy")
    return PipelineProblem(own.text("name"), own.number("slo_s"), own.number("load_qps"), tuple(stages), table)


def _stage(body: Any, where: str, before: str | None) -> StageProblem:
    own = _Fields(body, where, ("name", "after", "jobs_per_query", "options"))
    after = own.sequence("after", () if before is None else (before,))
    options = tuple(_option(each, f"{where}.options[{number}]") for number, each in enumerate(own.sequence("options")))
    return StageProblem(
        own.text("name"), tuple(str(each) for each in after), options, own.number("jobs_per_query", 1.0)
    )


def _option(body: Any, where: str) -> Option:
    """Latencies between the batch sizes given are those of the next larger one."""
    own = _Fields(body, where, ("variant", "accuracy", "cost", "device", "latency_s"))
    by_rows: dict[int, float] = {}
    for text, value in own.mapping("latency_s", required=True).items():
        if not text.isdecimal() or not int(text):
            raise ConfigError(f"{where}.latency_s has batch size {text!r}; give whole numbers from 1")
        if int(text) > MOST_ROWS:
            raise ConfigError(f"{where}.latency_s has batch size {text}; give none above {MOST_ROWS}")
        by_rows[int(text)] = _number(value, f"{where}.latency_s.{text}")
    if 1 not in by_rows:
        raise ConfigError(f"{where}.latency_s has no batch size 1 ({', '.join(map(str, sorted(by_rows)))}); give it")
    sizes = sorted(by_rows)
    for one, other in pairwise(sizes):
        if by_rows[other] < by_rows[one]:
            raise ConfigError(
                f"{where}.latency_s falls from {by_rows[one]:g} at {one} to {by_rows[other]:g} at {other} rows; "
                "larger batches take no less"
            )
    latency_s = [0.0]
    for size in sizes:
        latency_s += [by_rows[size]] * (size + 1 - len(latency_s))
    candidate = Candidate(own.text("variant"), own.number("accuracy"), tuple(latency_s))
    return Option(candidate, own.number("cost"), own.text("device", ""))


def _options(body: Mapping[str, Any]) -> IpaOptions:
    known = ("alpha", "beta", "delta", "accuracy", "batch_sizes", "several", "time_limit_s")
    own = _Fields(dict(body), "options", known)
    default = IpaOptions()
    sizes = own.sequence("batch_sizes", default.batch_sizes)
    if not all(isinstance(size, int) and not isinstance(size, bool) for size in sizes):
        raise ConfigError(f"options.batch_sizes is {_shown(sizes)}; give whole numbers from 1")
    several = body.get("several", default.several)
    if not isinstance(several, bool):
        raise ConfigError(f"options.several is {_shown(several)}; give true or false")
    return IpaOptions(
        alpha=own.number("alpha", default.alpha),
        beta=own.number("beta", default.beta),
        delta=own.number("delta", default.delta),
        accuracy=own.text("accuracy", default.accuracy),  # type: ignore[arg-type]
        batch_sizes=tuple(sizes),
        several=several,
        time_limit_s=own.number("time_limit_s", default.time_limit_s),
    )


def _number(value: Any, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ConfigError(f"{where} is {_shown(value)}; give a number")
    if abs(value) > LARGEST:
        raise ConfigError(f"{where} is {_shown(value)}; give a number of {LARGEST:g} at most")
    return float(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
