"""What a client may know of an endpoint."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from catalog.lengths import LengthRule
from catalog.tensor import TensorSpec
from dispatch.ensemble.ballots import Ballots
from dispatch.query import ONLY_STAGE


@dataclass(frozen=True)
class EndpointInfo:
    """Tensors of one endpoint; ``max_rows`` is the largest number of items in one request. ``tasks`` are by stage.

    ``emulated`` names the variants that no model answers for, of those that the service began with. In an
    ``ensemble`` several variants vote on a query. ``ballots`` says which outputs name classes, None where none does.
    ``stage_inputs`` are what variants are given, by stage. ``lengths`` say how long inputs of any length may be: one
    rule for each stage that takes some of the query as they are. Elements of BYTES may be ``any_bytes`` where all its
    models take those, else they are UTF-8. ``models`` has for each member of an ensemble a name that another model
    under the member's name does not have.
    """

    name: str
    tasks: Mapping[str, str]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    labels: tuple[str, ...]
    max_rows: int
    emulated: frozenset[str] = frozenset()
    ensemble: bool = False
    ballots: Ballots | None = None
    stage_inputs: Mapping[str, tuple[TensorSpec, ...]] = field(default_factory=dict)
    lengths: tuple[LengthRule, ...] = ()
    any_bytes: bool = False
    models: Mapping[str, str] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """What it does, in words: its task, or those of its stages."""
        return " > ".join(self.tasks.values())

    @cached_property
    def optional(self) -> frozenset[str]:
        """Inputs that a request may leave out: masks, where no stages are wired to them."""
        return frozenset(name for rule in self.lengths for name in rule.optional if ONLY_STAGE in self.tasks)

    @cached_property
    def input_by_name(self) -> dict[str, TensorSpec]:
        """Input specifications by tensor name."""
        return {spec.name: spec for spec in self.inputs}

    @cached_property
    def output_by_name(self) -> dict[str, TensorSpec]:
        """Output specifications by tensor name."""
        return {spec.name: spec for spec in self.outputs}

    def metadata(self, slo_s: float, variants: tuple[str, ...], emulated: Collection[str]) -> dict[str, Any]:
        """The answer of ``GET /v2/models/{endpoint}``, with the objective and the variants in force.

        ``emulated`` names variants that no model answers for, of any endpoint.
        """
        return {
            "name": self.name,
            "versions": ["1"],
            "platform": "accord",
            "inputs": [spec.oip() for spec in self.inputs],
            "outputs": [spec.oip() for spec in self.outputs],
            "properties": {"task": self.task, "slo_ms": f"{slo_s * 1e3:g}", "variants": ", ".join(variants)},
            "parameters": {
                "task": self.task,
                **({} if ONLY_STAGE in self.tasks else {"stages": dict(self.tasks)}),
                "slo_ms": slo_s * 1e3,
                "max_rows": self.max_rows,
                "labels": list(self.labels),
                **({"longest": min(rule.longest for rule in self.lengths)} if self.lengths else {}),
                "variants": list(variants),
                "emulated": [variant for variant in variants if variant in emulated],
            },
        }
