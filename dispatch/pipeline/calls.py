"""Calls of the functions between stages: tensors in, checked tensors out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from catalog.errors import AdapterFailed, BadRequest, NothingToAnswer
from catalog.lengths import LengthRule
from catalog.tensor import Arrays, TensorSpec
from dispatch import refusals
from dispatch.pipeline.graph import Part, Values
from dispatch.pipeline.wiring import AnswerWiring, StageWiring, Wires, stages_of, type_of, written
from dispatch.query import Query


@dataclass(frozen=True)
class StageParts:
    """Makes a stage's jobs: see ``Node.parts``.

    Raises `AdapterFailed`, and `BadRequest` for what comes from the query as it is and is longer than the stage takes.
    """

    stage: StageWiring

    def __call__(self, values: Values) -> Sequence[Part]:
        """The stage's inputs, cut into jobs."""
        stage, adapter = self.stage, self.stage.adapter
        given = taken(f"{stage.name}.inputs", stage.wires, values)
        where = f"stage {stage.name!r}"
        if adapter is not None:
            where += f": adapter {adapter.name}"
            given = called(where, adapter, given)
        rows = checked(where, given, stage.inputs)
        if rows and stage.lengths is not None:
            self._check_lengths(where, stage.lengths, given)
        return cut(given, rows, stage.rows_per_job)

    def _check_lengths(self, where: str, rule: LengthRule, given: Arrays) -> None:
        try:
            rule.check(given)
        except BadRequest as error:
            words = f"{where}: {error}"
            raise (BadRequest if self._takes_the_query else AdapterFailed)(words) from error

    @cached_property
    def _takes_the_query(self) -> bool:
        """Whether all that it takes is the query's own, as it is."""
        return self.stage.adapter is None and not stages_of(self.stage.wires)


@dataclass(frozen=True)
class StageRuns:
    """Whether a stage with a condition runs: see ``Node.runs``. Raises `AdapterFailed`."""

    stage: StageWiring

    def __call__(self, values: Values) -> bool:
        """What the condition says, or the opposite; no where nothing is left of what the stage itself takes."""
        stage, condition = self.stage, self.stage.condition
        assert condition is not None
        if not stage.independent and values.keys().isdisjoint(self._own_sources):
            return False
        where = f"stage {stage.name!r}: condition {condition.name}"
        kind = "unless" if stage.negated else "when"
        said = called(where, condition, taken(f"{stage.name}.{kind}.inputs", stage.condition_wires, values))
        if not isinstance(said, bool | np.bool_):
            raise AdapterFailed(f"{where} gave {_kind(said)}; expected True or False")
        return bool(said) is not stage.negated

    @cached_property
    def _own_sources(self) -> frozenset[str]:
        return frozenset(stages_of(self.stage.wires))


@dataclass(frozen=True)
class PipelineAnswer:
    """Makes a query's answer: see ``Graph.answer``. Raises `AdapterFailed` and `NothingToAnswer`."""

    answer: AnswerWiring
    outputs: tuple[TensorSpec, ...]

    def __call__(self, query: Query, values: Values) -> Arrays:
        """The answer's tensors, with as many rows as the query has."""
        adapter = self.answer.adapter
        sources = stages_of(self.answer.wires)
        missing = [source for source in sources if source not in values]
        if missing and (len(missing) == len(sources) or not self.answer.needs.isdisjoint(missing)):
            raise NothingToAnswer(
                f"the answer is made of {', '.join(map(str, self.answer.wires.values()))}, and stage "
                f"{', '.join(missing)} was skipped for this query; take what may be missing through an adapter whose "
                "parameters have defaults"
            )
        given = taken("answer.inputs", self.answer.wires, values)
        where = "the answer"
        if adapter is not None:
            where += f": adapter {adapter.name}"
            given = called(where, adapter, given)
        rows = checked(where, given, self.outputs)
        if rows != query.rows:
            raise AdapterFailed(f"{where} has {rows} rows; expected {query.rows}, as many as the query")
        return dict(given)


def taken(where: str, wires: Wires, values: Values) -> Arrays:
    """The wired tensors by input, as views that cannot be written to, without those of stages that were skipped."""
    found: Arrays = {}
    for name, (source, tensor) in wires.items():
        arrays = values.get(source)
        if arrays is None:
            continue
        array = arrays.get(tensor)
        if not isinstance(array, np.ndarray):
            raise AdapterFailed(
                f"{where}.{name} takes {source}.{tensor}, and what {source!r} gave for this query is "
                f"{', '.join(arrays) or 'nothing'}"
            )
        found[name] = array.view()
        found[name].flags.writeable = False
    return found


def called(where: str, function: Any, given: Arrays) -> Any:
    """What a user's function gives; raises `AdapterFailed` where it raises, ``sys.exit`` among it."""
    try:
        return function(**given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise refusals.adapter_failed(where, error) from error


def checked(where: str, given: Any, wanted: Iterable[TensorSpec]) -> int:
    """How many rows tensors have; raises `AdapterFailed` where they are not the wanted ones, all of as many rows."""
    specs = tuple(wanted)
    if not isinstance(given, Mapping):
        raise AdapterFailed(f"{where} gave {_kind(given)}; expected a mapping with {written(specs)}")
    if given.keys() != {spec.name for spec in specs}:
        raise AdapterFailed(f"{where} gave {', '.join(map(str, given)) or 'nothing'}; expected {written(specs)}")
    rows: int | None = None
    for spec in specs:
        array = given[spec.name]
        if not isinstance(array, np.ndarray):
            raise AdapterFailed(f"{where} gave {_kind(array)} as {spec.name!r}; expected an array, {type_of(spec)}")
        if array.dtype != spec.dtype or not array.ndim or not spec.fits(array.shape[1:]):
            _other_type(where, array, spec)
        if spec.datatype == "BYTES" and not all(isinstance(item, str) for item in array.flat):
            raise AdapterFailed(f"{where} gave something other than text in {spec.name!r}; expected str in all of it")
        if rows is not None and len(array) != rows:
            counts = ", ".join(f"{each.name} {len(given[each.name])}" for each in specs)
            raise AdapterFailed(
                f"{where} gave tensors of different numbers of rows: {counts}; expected as many of each"
            )
        rows = len(array)
    return rows or 0


def cut(arrays: Arrays, rows: int, rows_per_job: int) -> Sequence[Part]:
    """Jobs of so many rows each, the last of fewer, with contiguous inputs."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if 0 < rows <= rows_per_job:
        return (Part(whole, rows),)
    starts = range(0, rows, rows_per_job)
    return [
        Part({name: array[at : at + rows_per_job] for name, array in whole.items()}, min(rows_per_job, rows - at))
        for at in starts
    ]


def _other_type(where: str, array: np.ndarray[Any, Any], spec: TensorSpec) -> NoReturn:
    shape = ",".join(map(str, array.shape))
    raise AdapterFailed(
        f"{where} gave {spec.name!r} as {array.dtype}[{shape}]; expected {spec.dtype}{list(spec.shape)}"
    )


def _kind(value: Any) -> str:
    words = repr(value) if isinstance(value, bool | int | float | str | None) else ""
    return f"{words[:60]} of type {type(value).__name__}" if words else f"a {type(value).__name__}"
