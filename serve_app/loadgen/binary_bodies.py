"""Requests with raw tensors behind their JSON."""

from collections.abc import Mapping
from typing import Any

import orjson
from numpy.typing import NDArray

from catalog.tensor import TensorSpec
from serve_app.oip.raw_tensors import to_raw


def binary_bodies(
    arrays: Mapping[str, NDArray[Any]], specs: Mapping[str, TensorSpec], slo_ms: float | None, extra: Mapping[str, Any]
) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
    """A body for each item of the arrays' first axis, and how many bytes of it are JSON; answers are to be raw too.

    ``extra`` goes into the JSON of all.
    """
    parameters = {"binary_data_output": True, **({} if slo_ms is None else {"slo_ms": slo_ms})}
    bodies, json_bytes = [], []
    for index in range(len(next(iter(arrays.values())))):
        raw = {name: bytes(to_raw(array[index : index + 1], specs[name])) for name, array in arrays.items()}
        inputs = [
            {
                "name": name,
                "shape": [1, *array.shape[1:]],
                "datatype": specs[name].datatype,
                "parameters": {"binary_data_size": len(raw[name])},
            }
            for name, array in arrays.items()
        ]
        head = orjson.dumps({"inputs": inputs, **extra, "parameters": parameters})
        bodies.append(b"".join([head, *raw.values()]))
        json_bytes.append(len(head))
    return tuple(bodies), tuple(json_bytes)
