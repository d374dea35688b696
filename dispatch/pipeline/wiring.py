"""How the stages of a pipeline are joined: which tensors each takes, through what, and under which condition."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from catalog.adapter import Adapter, Condition
from catalog.errors import ConfigError
from catalog.lengths import LengthRule
from catalog.tensor import TensorSpec
from dispatch.pipeline.graph import QUERY


class Wire(NamedTuple):
    """A tensor of a source: an output of another stage, or an input of the query itself under `QUERY`."""

    source: str
    tensor: str

    @classmethod
    def read(cls, written: str, where: str) -> "Wire":
        """Of ``source.tensor``, as a config has it at ``where``; raises `ConfigError`."""
        source, dot, tensor = written.partition(".")
        if not (source and dot and tensor):
            raise ConfigError(
                f"{where} is {written!r}; write source.tensor, such as find.boxes, or {QUERY}.image for an input of "
                "the query"
            )
        return cls(source, tensor)

    def __str__(self) -> str:
        """As a config has it."""
        return f"{self.source}.{self.tensor}"


Wires = Mapping[str, Wire]
"""By input what it is taken from."""


@dataclass(frozen=True)
class StageWiring:
    """One stage: its task takes ``inputs`` and gives ``outputs``.

    ``wires`` are by input of the ``adapter``, or of the task where there is none. With a ``condition`` the stage runs
    where that says yes, or no where it is ``negated``; the condition's inputs are by ``condition_wires``. What the
    adapter gives is cut into jobs of ``rows_per_job`` rows, the last of fewer. ``lengths`` say how long inputs of any
    length may be, None where they have fixed sizes.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    wires: Wires
    adapter: Adapter | None = None
    condition: Condition | None = None
    condition_wires: Wires = field(default_factory=dict)
    negated: bool = False
    rows_per_job: int = 1
    lengths: LengthRule | None = None

    @property
    def query_lengths(self) -> LengthRule | None:
        """How long inputs of the query may be, since this stage takes them as they are whatever comes of other stages.

        None where it takes none of any length so.
        """
        rule = self.lengths
        if rule is None or self.adapter is not None or self.sources or self.condition is not None:
            return None

        def named(spec: TensorSpec) -> TensorSpec:
            return replace(spec, name=self.wires[spec.name].tensor)

        mask = None if rule.mask is None else named(rule.mask)
        return LengthRule(rule.lengths, tuple(map(named, rule.inputs)), mask) if rule.inputs else None

    @property
    def sources(self) -> tuple[str, ...]:
        """The other stages that it waits for, each once."""
        return tuple(stages_of(self.wires) | stages_of(self.condition_wires))

    @property
    def needs(self) -> frozenset[str]:
        """Those of its sources without which it cannot run."""
        needed = needed_of(self.wires, self.adapter)
        return needed if self.condition is None else needed | needed_of(self.condition_wires, self.condition)

    @property
    def independent(self) -> bool:
        """Whether its inputs leave something where all stages that they are taken from were skipped."""
        return not stages_of(self.wires) or any(wire.source == QUERY for wire in self.wires.values())


@dataclass(frozen=True)
class AnswerWiring:
    """What the answer is made of: ``wires`` by input of the ``adapter``, or by output of the pipeline without one."""

    wires: Wires
    adapter: Adapter | None = None

    @property
    def needs(self) -> frozenset[str]:
        """The stages without which there is no answer."""
        return needed_of(self.wires, self.adapter)


def stages_of(wires: Wires) -> dict[str, None]:
    """The stages that something is taken from, each once, in their order; the query is none."""
    return {wire.source: None for wire in wires.values() if wire.source != QUERY}


def needed_of(wires: Wires, taker: Adapter | Condition | None) -> frozenset[str]:
    """The stages of the tensors that cannot be left out."""
    optional = frozenset[str]() if taker is None else taker.optional
    return frozenset(stages_of({name: wire for name, wire in wires.items() if name not in optional}))


def written(specs: tuple[TensorSpec, ...]) -> str:
    """Tensors with their types, as messages have them."""
    return ", ".join(_named(specs)) or "nothing"


def type_of(spec: TensorSpec) -> str:
    """A tensor's type, such as ``FP32[-1,64]``."""
    return f"{spec.datatype}[{','.join(map(str, spec.shape))}]"


def same_type(one: TensorSpec, other: TensorSpec) -> bool:
    """Whether one can be taken for the other."""
    return one.datatype == other.datatype and one.shape == other.shape


def _named(specs: tuple[TensorSpec, ...]) -> Iterator[str]:
    return (f"{spec.name} {type_of(spec)}" for spec in specs)
