"""Tensors as bytes: little-endian, in row-major order, without padding.

The form of the binary tensor extension over HTTP and of raw contents over gRPC. BOOL is a byte for each value, BF16
the upper half of an FP32, and an element of BYTES its length, four bytes, and then itself: whatever bytes these are.
"""

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from catalog.errors import BadRequest
from catalog.tensor import DTYPES, TensorSpec

Array = np.ndarray[Any, Any]
Raw = bytes | memoryview

_WIRE = {name: dtype.newbyteorder("<") for name, dtype in DTYPES.items() if name != "BYTES"} | {
    "BOOL": np.dtype(np.uint8),
    "BF16": np.dtype("<u2"),
}
_LENGTH = struct.Struct("<I")


def element_bytes(datatype: str) -> int:
    """What an element takes, of any datatype but BYTES."""
    return _WIRE[datatype].itemsize


def from_raw(raw: Raw, shape: Sequence[int], spec: TensorSpec) -> Array:
    """The tensor of ``shape`` that the bytes hold, an array of its own; raises `BadRequest`."""
    count = math.prod(shape)
    if spec.datatype == "BYTES":
        return _elements(bytes(raw), count, spec).reshape(shape)
    wire = _WIRE[spec.datatype]
    if len(raw) != count * wire.itemsize:
        raise BadRequest(
            f"input {spec.name!r} has {len(raw)} bytes; {spec.datatype} of shape {list(shape)} has "
            f"{count * wire.itemsize}"
        )
    values = np.frombuffer(raw, wire).reshape(shape)
    if spec.datatype == "BOOL":
        return values.astype(np.bool_)
    if spec.datatype == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(spec.dtype)  # a copy: the bytes may lie at an odd address, and nobody may write to them


def to_raw(array: Array, spec: TensorSpec) -> Raw:
    """The bytes of a tensor; nothing is copied where it lies in memory as it is sent."""
    if spec.datatype == "BYTES":
        return pack_elements([each if isinstance(each, bytes) else str(each).encode() for each in array.flat])
    if spec.datatype == "BF16":
        array = _halved(np.ascontiguousarray(array, np.float32))
    # An empty array has no memory to look at.
    return np.ascontiguousarray(array, _WIRE[spec.datatype]).data.cast("B") if array.size else b""


def pack_elements(elements: Sequence[bytes]) -> bytes:
    """Elements of BYTES, each behind its length."""
    return b"".join([part for each in elements for part in (_LENGTH.pack(len(each)), each)])


def _elements(raw: bytes, count: int, spec: TensorSpec) -> Array:
    """Elements of BYTES, ``str`` where they are UTF-8; looks at each, since each says where the next one begins."""
    if _LENGTH.size * count > len(raw):  # before memory is taken for what a client only claims
        raise BadRequest(
            f"input {spec.name!r} has {len(raw)} bytes; {count} elements have {_LENGTH.size} each at least"
        )
    found = np.empty(count, dtype=object)
    at = 0
    try:
        for number in range(count):
            start = at + 4
            at = start + _LENGTH.unpack_from(raw, at)[0]
            if at > len(raw):
                raise BadRequest(
                    f"input {spec.name!r}: element {number} ends behind the {len(raw)} bytes of the tensor"
                )
            element = raw[start:at]
            try:
                found[number] = element.decode()
            except UnicodeDecodeError:
                found[number] = element
    except struct.error:
        raise BadRequest(f"input {spec.name!r} has {len(raw)} bytes, which end before element {number}") from None
    if at != len(raw):
        raise BadRequest(f"input {spec.name!r} has {len(raw)} bytes; its {count} elements end after {at}")
    return found


def _halved(values: Array) -> Array:
    """FP32 to BF16, to the nearest and of two the even one; NaN stays NaN."""
    bits = values.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    rounded[np.isnan(values)] = 0x7FC0
    return rounded
