"""Tensor specifications in the words of the Open Inference Protocol."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import ConfigDict, field_validator
from pydantic.dataclasses import dataclass

DTYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "UINT8": np.dtype(np.uint8),
    "UINT16": np.dtype(np.uint16),
    "UINT32": np.dtype(np.uint32),
    "UINT64": np.dtype(np.uint64),
    "INT8": np.dtype(np.int8),
    "INT16": np.dtype(np.int16),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "FP16": np.dtype(np.float16),
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
    "BF16": np.dtype(np.float32),
    "BYTES": np.dtype(object),
}
"""OIP datatype name to numpy dtype. BYTES travels as an object array of ``str``, of ``bytes`` where an element is no
UTF-8; BF16 is FP32 but for the wire."""

Arrays = dict[str, np.ndarray[Any, Any]]
"""Tensors by name."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TensorSpec:
    """Name, datatype and shape of one input or output.

    ``shape`` is the OIP shape: its first axis is the batch and must be -1. One of the others may be -1 too, of any
    length (`catalog.lengths`); all others are fixed, so that queries can be stacked. ``allow_nan`` admits NaN and
    infinity; the default refuses them at the edge.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    allow_nan: bool = False

    @field_validator("datatype")
    @classmethod
    def _known_datatype(cls, value: str) -> str:
        if value not in DTYPES:
            raise ValueError(f"unknown datatype {value!r}; use one of {', '.join(DTYPES)}")
        return value

    @field_validator("shape")
    @classmethod
    def _batch_axis_first(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value or value[0] != -1:
            raise ValueError(f"shape {list(value)} must start with -1, the batch axis")
        if any(axis < 1 and axis != -1 for axis in value[1:]):
            raise ValueError(
                f"shape {list(value)}: every axis after the first must be a size of at least 1, or -1 for any length"
            )
        if value[1:].count(-1) > 1:
            raise ValueError(
                f"shape {list(value)}: one axis after the first may be of any length (-1), and all others must be fixed"
            )
        return value

    @property
    def dtype(self) -> np.dtype[Any]:
        """Numpy dtype of the tensor."""
        return DTYPES[self.datatype]

    @property
    def item_shape(self) -> tuple[int, ...]:
        """Shape of one item of the batch; an axis of any length is -1."""
        return self.shape[1:]

    @property
    def length_axis(self) -> int | None:
        """The axis of any length beside the batch; None where all others are fixed."""
        return self.shape.index(-1, 1) if -1 in self.item_shape else None

    def item_shape_at(self, length: int) -> tuple[int, ...]:
        """Shape of one item of this length."""
        return tuple(length if axis == -1 else axis for axis in self.item_shape)

    def fits(self, item_shape: Sequence[int]) -> bool:
        """Whether an item of that shape is one of this tensor's."""
        own = self.item_shape
        return len(own) == len(item_shape) and all(
            axis in (-1, given) for axis, given in zip(own, item_shape, strict=True)
        )

    @property
    def item_size(self) -> int:
        """Number of elements of one item of the batch, where it is of length 1 on an axis of any length."""
        return int(np.prod(self.item_shape_at(1), dtype=np.int64))

    def oip(self) -> dict[str, Any]:
        """The tensor as the OIP metadata answer prints it."""
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}
