"""What can be wrong with how stages are joined, found before anything runs."""

from collections.abc import Iterable, Mapping, Sequence

from catalog.adapter import Adapter, Condition
from catalog.errors import ConfigError
from catalog.faults import nearest
from catalog.tensor import TensorSpec
from dispatch.pipeline.graph import QUERY, unknown_source
from dispatch.pipeline.wiring import AnswerWiring, StageWiring, Wire, Wires, same_type, type_of, written

Specs = tuple[TensorSpec, ...]


class QueryTensors:
    """The query's own tensors, whose types are what they are taken as; all that take one must agree."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[str, TensorSpec]] = {}

    @property
    def specs(self) -> Specs:
        """The inputs of a query, in the order in which they were first taken. NaN is allowed where all allow it."""
        return tuple(spec for _, spec in self._taken.values())

    def take(self, edge: str, name: str, wanted: TensorSpec) -> None:
        """Somebody takes a tensor of the query as this; raises `ConfigError` where another takes it as something else.

        ``edge`` is what takes it, for messages.
        """
        first_edge, known = self._taken.get(name, (edge, wanted))
        if not same_type(known, wanted):
            raise ConfigError(
                f"{edge} takes {QUERY}.{name} as {type_of(wanted)}, and {first_edge} takes it as {type_of(known)}; "
                "put an adapter in front of one of them, or take two inputs of the query"
            )
        allow_nan = known.allow_nan and wanted.allow_nan
        self._taken[name] = (first_edge, TensorSpec(name, wanted.datatype, wanted.shape, allow_nan))

    def type_of(self, edge: str, name: str) -> TensorSpec:
        """What others take a tensor of the query as; raises `ConfigError` where nobody takes it."""
        if name not in self._taken:
            raise ConfigError(
                f"{edge} takes {QUERY}.{name}, and no stage does, so that its type is not known; inputs of the query "
                f"that stages take: {', '.join(self._taken) or 'none'}"
            )
        return self._taken[name][1]


def check_wiring(stage: StageWiring, outputs: Mapping[str, Specs], query: QueryTensors) -> None:
    """Raises `ConfigError`, naming the edge and what was expected, where a stage cannot be joined to its sources.

    ``outputs`` are by stage; ``query`` learns what the stage takes of the query.
    """
    name, adapter = stage.name, stage.adapter
    if stage.rows_per_job < 1:
        raise ConfigError(f"{name}.rows_per_job is {stage.rows_per_job}; give a whole number of at least 1")
    taker = f"the task of stage {name!r}" if adapter is None else f"adapter {adapter.name}"
    wanted = stage.inputs if adapter is None else adapter.inputs
    _check_edges(f"{name}.inputs", taker, stage.wires, wanted, _optional(adapter), outputs, query)
    if adapter is not None:
        _check_outputs(stage, adapter)
    if stage.condition is not None:
        condition = stage.condition
        where = f"{name}.{'unless' if stage.negated else 'when'}.inputs"
        taker = f"condition {condition.name}"
        wires, wanted = stage.condition_wires, condition.inputs
        _check_edges(where, taker, wires, wanted, condition.optional, outputs, query)


def check_answer(answer: AnswerWiring, outputs: Mapping[str, Specs], query: QueryTensors) -> Specs:
    """What the pipeline gives; raises `ConfigError` as `check_wiring` does. Stages must have been checked before."""
    adapter = answer.adapter
    where = "answer.inputs"
    if adapter is not None:
        taker = f"adapter {adapter.name}"
        _check_edges(where, taker, answer.wires, adapter.inputs, adapter.optional, outputs, query)
        return adapter.outputs
    found = []
    for name, wire in answer.wires.items():
        edge = f"{where}.{name}"
        given = query.type_of(edge, wire.tensor) if wire.source == QUERY else _given(edge, wire, outputs)
        found.append(TensorSpec(name, given.datatype, given.shape, given.allow_nan))
    return tuple(found)


def _check_edges(
    where: str,
    taker: str,
    wires: Wires,
    wanted: Specs,
    optional: Iterable[str],
    outputs: Mapping[str, Specs],
    query: QueryTensors,
) -> None:
    takes = {spec.name: spec for spec in wanted}
    for name, wire in wires.items():
        edge = f"{where}.{name}"
        if name not in takes:
            raise ConfigError(
                f"{edge} takes {wire}, and {taker} has no input {name!r}{nearest(name, takes)}; it takes "
                f"{written(wanted)}"
            )
        if wire.source == QUERY:
            query.take(edge, wire.tensor, takes[name])
            continue
        given = _given(edge, wire, outputs)
        if not same_type(given, takes[name]):
            raise ConfigError(
                f"{edge} takes {wire}, {type_of(given)}; expected {type_of(takes[name])}, which {taker} takes as "
                f"{name!r}"
            )
    missing = [name for name in takes if name not in wires and name not in optional]
    for name in missing:
        raise ConfigError(
            f"{where}.{name} is missing: {taker} takes {name!r}, {type_of(takes[name])}; name the source and tensor "
            f"that it is taken from, such as {QUERY}.{name}"
        )


def _check_outputs(stage: StageWiring, adapter: Adapter) -> None:
    """What an adapter gives must be what the stage takes."""
    wanted = {spec.name: spec for spec in stage.inputs}
    given = {spec.name: spec for spec in adapter.outputs}
    agree = wanted.keys() == given.keys() and all(same_type(wanted[name], given[name]) for name in wanted)
    if not agree:
        raise ConfigError(
            f"{stage.name}.adapter {adapter.name} gives {written(adapter.outputs)}; expected {written(stage.inputs)}, "
            f"which the task of stage {stage.name!r} takes"
        )


def _given(edge: str, wire: Wire, outputs: Mapping[str, Sequence[TensorSpec]]) -> TensorSpec:
    if wire.source not in outputs:
        raise unknown_source(edge, wire.source, list(outputs))
    given = {spec.name: spec for spec in outputs[wire.source]}
    if wire.tensor not in given:
        raise ConfigError(
            f"{edge} takes {wire}, and stage {wire.source!r} gives no {wire.tensor!r}{nearest(wire.tensor, given)}; it "
            f"gives {written(tuple(given.values()))}"
        )
    return given[wire.tensor]


def _optional(taker: Adapter | Condition | None) -> frozenset[str]:
    return frozenset() if taker is None else taker.optional
