"""What an endpoint says of its tensors, as far as sending queries and reading answers needs it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.evaluation.class_outputs import class_outputs, label_output, why_no_class
from catalog.tensor import TensorSpec

LABEL_OUTPUT = "label"
"""An output of this name says the class, whatever its datatype: a number, or the class in words."""

NOT_COMPARED = "answers are not compared with labels"


@dataclass(frozen=True)
class ModelMetadata:
    """Inputs, outputs and names of classes of an endpoint; each is empty where it is unknown."""

    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "ModelMetadata":
        """From the answer of ``GET /v2/models/NAME``. Tensors that Accord could not serve count as unknown."""
        labels = (body.get("parameters") or {}).get("labels") or ()
        return cls(_specs(body.get("inputs") or ()), _specs(body.get("outputs") or ()), tuple(map(str, labels)))

    @property
    def class_output(self) -> TensorSpec | None:
        """The output that says the class: the one named `LABEL_OUTPUT`, else whole numbers [-1], else scores of classes
        [-1, classes]; None where there is none.

        The rule of `class_outputs`, by which `accord evaluate` compares, but that whole numbers need no known number
        of classes.
        """
        named = next((spec for spec in self.outputs if spec.name == LABEL_OUTPUT), None)
        found = class_outputs(self.outputs, len(self.labels))
        return named or label_output(self.outputs) or (None if found is None else found.scores)

    def not_compared(self, labels: Iterable[int | str | None] = ()) -> str | None:
        """Why answers are not compared with these labels; None where they are, or where outputs are unknown.

        A name that is no class of the endpoint is a reason, but for an output named `LABEL_OUTPUT`, which may give any.
        """
        output = self.class_output
        if not self.outputs or (output is not None and output.name == LABEL_OUTPUT):
            return None
        if output is None:
            given = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in self.outputs)
            names = f" and {len(self.labels)} labels" if self.labels else ""
            why = why_no_class(self.outputs, len(self.labels))
            return f"{NOT_COMPARED}: no output of classes or scores; the endpoint has {given}{names}: {why}"
        unknown = (each for each in labels if isinstance(each, str) and each not in self.labels)
        name = next((each for each in unknown if not each.isdecimal()), None)
        if name is None:
            return None
        return f"{NOT_COMPARED}: the endpoint has no class {name!r}; it names {', '.join(self.labels) or 'none'}"


def _specs(tensors: Sequence[Mapping[str, Any]]) -> tuple[TensorSpec, ...]:
    try:
        return tuple(TensorSpec(each["name"], each["datatype"], tuple(each["shape"])) for each in tensors)
    except (KeyError, TypeError, ValueError):  # an axis of a batch of its own, for one, as other servers have it
        return ()
