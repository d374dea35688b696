"""Tensor specifications in the words of the Open Inference Protocol."""

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
    "BYTES": np.dtype(object),
}
"""OIP datatype name to numpy dtype; BYTES travels as an object array of ``str``."""

Arrays = dict[str, np.ndarray[Any, Any]]
"""Tensors by name."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TensorSpec:
    """Name, datatype and shape of one input or output.

    ``shape`` is the OIP shape: its first axis is the batch and must be -1, all others are fixed, so that
    queries can be stacked. ``allow_nan`` admits NaN and infinity; the default refuses them at the edge.
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
        if any(axis < 1 for axis in value[1:]):
            raise ValueError(f"shape {list(value)}: every axis after the first must be a fixed size of at least 1")
        return value

    @property
    def dtype(self) -> np.dtype[Any]:
        """Numpy dtype of the tensor."""
        return DTYPES[self.datatype]

    @property
    def item_shape(self) -> tuple[int, ...]:
        """Shape of one item of the batch."""
        return self.shape[1:]

    @property
    def item_size(self) -> int:
        """Number of elements of one item of the batch."""
        return int(np.prod(self.item_shape, dtype=np.int64))

    def oip(self) -> dict[str, Any]:
        """The tensor as the OIP metadata answer prints it."""
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}
