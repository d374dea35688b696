"""Inputs of any length: what a variant declares of them, and what that means for the tensors of its queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from catalog.errors import BadRequest
from catalog.tensor import Arrays, TensorSpec
from catalog.texts.token_estimate import estimated_up_to

TYPICAL_SHARE = 4
"""A typical length is one part in so many of the longest, where nothing else is declared."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Lengths:
    """What a variant declares of inputs of any length.

    ``longest`` is the longest that it takes; longer queries are refused, and texts count as no longer, since they are
    cut. ``typical`` is the length that plain latency profiles are of, a quarter of the longest where it is None.
    ``padding`` has, by input, what shorter queries of a batch are filled up with, 0 (empty strings for BYTES) where it
    names none. ``mask`` names the input that says which elements are a query's own (1) and which are padding (0);
    clients may leave it out.
    """

    longest: int = Field(ge=1)
    typical: int | None = Field(default=None, ge=1)
    padding: dict[str, float] = Field(default_factory=dict)
    mask: str | None = None

    @property
    def typical_length(self) -> int:
        """``typical``, or what stands for it."""
        return self.typical or max(1, self.longest // TYPICAL_SHARE)


@plain_dataclass(frozen=True)
class LengthRule:
    """How long a query is, and how its tensors are padded and cut.

    The length of a query is the size of the first of ``inputs`` of any length, all without the mask; of texts it is an
    estimate of their tokens. ``outputs`` of any length have the length of that input.
    """

    lengths: Lengths
    inputs: tuple[TensorSpec, ...]
    mask: TensorSpec | None = None
    outputs: tuple[TensorSpec, ...] = ()
    text: str | None = None

    @classmethod
    def of(
        cls, lengths: Lengths | None, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
    ) -> "LengthRule | None":
        """The rule for these tensors, None where they have fixed sizes; raises ValueError for what does not fit."""
        varying = [spec for spec in inputs if spec.length_axis is not None]
        if lengths is None:
            if varying:
                raise ValueError(
                    f"input {varying[0].name!r} has shape {list(varying[0].shape)}, an axis of any length; say how "
                    "long it may be, for example lengths: {longest: 512}"
                )
            _no_varying_outputs(outputs, "no input has one")
            return None
        if lengths.typical is not None and lengths.typical > lengths.longest:
            raise ValueError(f"lengths.typical is {lengths.typical}, more than lengths.longest ({lengths.longest})")
        mask = next((spec for spec in varying if spec.name == lengths.mask), None)
        if lengths.mask is not None and mask is None:
            raise ValueError(
                f"lengths.mask is {lengths.mask!r}, which must be an input with an axis of any length; "
                f"those are {', '.join(spec.name for spec in varying) or 'none'}"
            )
        own = tuple(spec for spec in varying if spec is not mask)
        if mask is not None and (mask.datatype == "BYTES" or len(mask.shape) != 2 or not own):
            raise ValueError(
                f"lengths.mask {mask.name!r} must be numbers or BOOL of shape [-1, -1], beside another input of any "
                f"length; it is {mask.datatype} {list(mask.shape)}"
            )
        text = None if own else next((spec.name for spec in inputs if spec.datatype == "BYTES"), None)
        if not own and text is None:
            raise ValueError(
                "lengths is given, but no input has an axis of any length, and none is BYTES, whose tokens could be "
                "counted; give an axis -1, or remove lengths"
            )
        _check_padding(lengths.padding, own)
        if text is not None:
            _no_varying_outputs(outputs, f"the tokens of {text!r} are counted only roughly")
        return cls(lengths, own, mask, tuple(spec for spec in outputs if spec.length_axis is not None), text)

    @property
    def longest(self) -> int:
        """The longest that a query may be."""
        return self.lengths.longest

    def length_of(self, inputs: Mapping[str, Any]) -> int:
        """The length of a query, at least 1; of several texts the longest."""
        if self.text is not None:
            texts = inputs[self.text].reshape(-1).tolist()
            return max((estimated_up_to(text, self.longest) for text in texts), default=1)
        first = self.inputs[0]
        assert first.length_axis is not None
        return int(inputs[first.name].shape[first.length_axis])

    def check(self, inputs: Mapping[str, Any]) -> None:
        """Raise `BadRequest` for an input that is too long or empty, and for a mask of another length."""
        for spec in self.inputs:
            assert spec.length_axis is not None
            length = inputs[spec.name].shape[spec.length_axis]
            if not 1 <= length <= self.longest:
                raise BadRequest(
                    f"input {spec.name!r} has length {length} on axis {spec.length_axis}; send 1 to {self.longest}"
                )
        if self.mask is not None and self.mask.name in inputs:
            given, length = inputs[self.mask.name].shape[1], self.length_of(inputs)
            if given != length:
                raise BadRequest(
                    f"input {self.mask.name!r} has length {given}, and {self.inputs[0].name!r} has {length}; a mask "
                    "must be as long, or be left out"
                )

    def with_mask(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The inputs with a mask that leaves nothing out, where one is taken and none is there."""
        if self.mask is None or self.mask.name in inputs:
            return inputs
        first = next(iter(inputs.values()))
        return inputs | {self.mask.name: np.ones((len(first), self.length_of(inputs)), self.mask.dtype)}

    def padded(self, given: Sequence[Mapping[str, Any]]) -> Arrays:
        """The inputs of any length of several queries, each in one array of all rows.

        Shorter ones are padded to the longest, and the mask is of ones for a query's own elements where it brings none.
        """
        together = {}
        for spec in self.inputs:
            assert spec.length_axis is not None
            padding = "" if spec.datatype == "BYTES" else self.lengths.padding.get(spec.name, 0)
            together[spec.name] = _padded([own[spec.name] for own in given], spec.length_axis, padding)
        if self.mask is not None:
            together[self.mask.name] = _padded([self.with_mask(dict(own))[self.mask.name] for own in given], 1, 0)
        return together

    @property
    def optional(self) -> frozenset[str]:
        """Inputs that a client may leave out."""
        return frozenset() if self.mask is None else frozenset([self.mask.name])


def _padded(arrays: Sequence[NDArray[Any]], axis: int, padding: float | str) -> NDArray[Any]:
    """One array of all rows, as long on ``axis`` as the longest of them."""
    longest = max(array.shape[axis] for array in arrays)
    if all(array.shape[axis] == longest for array in arrays):
        return np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
    shape = list(arrays[0].shape)
    shape[0], shape[axis] = sum(map(len, arrays)), longest
    made = np.full(shape, padding, dtype=arrays[0].dtype)
    row = 0
    for array in arrays:
        end = row + len(array)
        made[(slice(row, end), *[slice(None)] * (axis - 1), slice(array.shape[axis]))] = array
        row = end
    return made


def _no_varying_outputs(outputs: Sequence[TensorSpec], why: str) -> None:
    for spec in outputs:
        if spec.length_axis is not None:
            raise ValueError(
                f"output {spec.name!r} has shape {list(spec.shape)}, an axis of any length, which is taken from an "
                f"input, and {why}; give it a fixed size"
            )


def _check_padding(padding: Mapping[str, float], inputs: Sequence[TensorSpec]) -> None:
    specs = {spec.name: spec for spec in inputs}
    for name, value in padding.items():
        spec = specs.get(name)
        if spec is None or spec.datatype == "BYTES":
            raise ValueError(
                f"lengths.padding names {name!r}; it may name inputs of any length that hold numbers: "
                f"{', '.join(n for n, s in specs.items() if s.datatype != 'BYTES') or 'there are none'}"
            )
        with np.errstate(all="ignore"):
            held = float(np.array(value).astype(spec.dtype))
        if spec.dtype.kind != "f" and held != value:
            raise ValueError(f"lengths.padding.{name} is {value:g}, which {spec.datatype} cannot hold")
