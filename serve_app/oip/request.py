"""Open Inference Protocol v2: a request's bytes to tensors.

JSON data may be flat in row-major order or nested; raw data come behind the JSON. Everything that is wrong with a
request is a `BadRequest` that says what was expected and what was given.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from catalog.errors import BadRequest
from catalog.tensor import Arrays, TensorSpec
from dispatch.query import NORMAL_PRIORITY
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.json_values import flat, may_hold_booleans, typed
from serve_app.oip.parameters import (
    accuracy_of,
    parameters_of,
    priority_of,
    refuse_not_served,
    slo_s_of,
    wanted_of,
)
from serve_app.oip.raw_request import raw_request
from serve_app.oip.raw_tensors import Raw, from_raw
from serve_app.oip.words import kind, names, shown

LONGEST_ID = 1024
"""Characters: answers are remembered by id, for feedback."""

SHORT = 16_384
"""Bytes of JSON, of which a look at each value costs no more than a clever one."""

MANY = 4096
"""Values."""

NO_HEADER = (
    "tensors behind the JSON (binary_data_size) need the header inference-header-content-length with the length of the "
    "JSON, and the request has none"
)

ONLY_BINARY = frozenset(("FP16", "BF16"))
"""Have no form in JSON."""


@dataclass(frozen=True, slots=True)
class InferRequest:
    """A decoded request: ``rows`` stacked items, and what the client asked for beside them.

    ``slo_s`` is the client's own latency objective, ``accuracy`` (0 to 1) what it asks of an ensemble at least; None is
    for the endpoint's. ``outputs`` are the tensors it wants, the ``binary`` ones of them as raw bytes. Of two
    ``priority`` numbers the smaller one comes first.
    """

    id: str | None
    inputs: Arrays
    rows: int
    slo_s: float | None
    outputs: tuple[str, ...]
    accuracy: float | None = None
    priority: int = NORMAL_PRIORITY
    binary: frozenset[str] = frozenset()


def decode(body: bytes, endpoint: EndpointInfo, json_bytes: int | None = None) -> InferRequest:
    """Decode and check a request body; raises `BadRequest`.

    The JSON is the first ``json_bytes`` of it, with raw tensors behind; None where all of it is JSON, 0 where all of it
    is one tensor.
    """
    if json_bytes == 0:
        content, raw = raw_request(body, endpoint)
        return read(content, endpoint, raw)
    if json_bytes is not None and json_bytes > len(body):
        raise BadRequest(
            f"inference-header-content-length is {json_bytes}, and the whole body has {len(body)} bytes; give the "
            "length of the JSON in front of the raw tensors"
        )
    text = body if json_bytes is None else body[:json_bytes]
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        behind = f"; {NO_HEADER}" if json_bytes is None and b'"binary_data_size"' in body else ""
        raise BadRequest(f"the body is not JSON: {error}{behind}") from error
    if not isinstance(content, dict):
        raise BadRequest(f"the body must be a JSON object with 'inputs', not {kind(content)}")
    raw = {} if json_bytes is None else _split(content.get("inputs"), memoryview(body)[json_bytes:])
    request = read(content, endpoint, raw, any_bool=len(text) < SHORT or may_hold_booleans(text))
    for name in request.outputs:
        datatype = endpoint.output_by_name[name].datatype
        if datatype in ONLY_BINARY and name not in request.binary:
            raise BadRequest(f"output {name!r} is {datatype}, which JSON cannot hold; ask for it as binary_data")
    return request


def read(
    content: Mapping[str, Any], endpoint: EndpointInfo, raw: Mapping[int, Raw], any_bool: bool = True
) -> InferRequest:
    """A request from its fields, as JSON has them; ``raw`` has the bytes of inputs by their place in ``inputs``.

    Without ``any_bool`` no boolean is in it. Raises `BadRequest`.
    """
    given = content.get("inputs")
    if not isinstance(given, list) or not given:
        raise BadRequest(f"'inputs' must be a list of tensors ({names(endpoint.inputs)}), not {kind(given)}")
    arrays: Arrays = {}
    for place, tensor in enumerate(given):
        if not isinstance(tensor, dict):
            raise BadRequest(
                f"each of 'inputs' must be an object with name, shape, datatype and data, not {kind(tensor)}"
            )
        name = tensor.get("name")
        spec = endpoint.input_by_name.get(name) if isinstance(name, str) else None
        if spec is None:
            raise BadRequest(
                f"input {shown(name)} is unknown; endpoint {endpoint.name!r} takes {names(endpoint.inputs)}"
            )
        if spec.name in arrays:
            raise BadRequest(f"input {spec.name!r} is given twice")
        arrays[spec.name] = array = _array(tensor, spec, endpoint.max_rows, raw.get(place), any_bool)
        if spec.datatype == "BYTES" and place in raw and not endpoint.any_bytes:
            _check_texts(array, spec)
    missing = [spec.name for spec in endpoint.inputs if spec.name not in arrays and spec.name not in endpoint.optional]
    if missing:
        raise BadRequest(f"input {missing[0]!r} is missing; endpoint {endpoint.name!r} takes {names(endpoint.inputs)}")
    sizes = {name: len(array) for name, array in arrays.items()}
    rows = next(iter(sizes.values()))
    if any(size != rows for size in sizes.values()):
        raise BadRequest(f"all inputs must have the same first axis, the batch; given {sizes}")
    for rule in endpoint.lengths:
        rule.check(arrays)
    request_id = None if content.get("id") == "" else content.get("id")
    if request_id is not None and not isinstance(request_id, str):
        raise BadRequest(f"'id' must be a string, not {kind(request_id)}")
    if request_id is not None and len(request_id) > LONGEST_ID:
        raise BadRequest(f"'id' has {len(request_id)} characters and may have {LONGEST_ID}")
    parameters = parameters_of(content)
    (wanted, binary), accuracy = wanted_of(content, parameters, endpoint), accuracy_of(parameters, endpoint)
    priority = priority_of(parameters)
    return InferRequest(request_id, arrays, rows, slo_s_of(parameters), wanted, accuracy, priority, binary)


def _split(given: Any, tail: memoryview) -> dict[int, Raw]:
    """The raw tensors behind the JSON, in the order of ``inputs``, by their place there."""
    raw: dict[int, Raw] = {}
    at = 0
    for place, tensor in enumerate(given if isinstance(given, list) else ()):
        if not isinstance(tensor, dict) or not tensor.get("parameters"):
            continue
        size = parameters_of(tensor).get("binary_data_size")
        if size is None:
            continue
        if type(size) is not int or size < 0:
            raise BadRequest(f"parameters.binary_data_size must be a whole number of at least 0, not {shown(size)}")
        if at + size > len(tail):
            raise BadRequest(
                f"input {shown(tensor.get('name'))}: binary_data_size is {size}, and {len(tail) - at} bytes are left "
                "in the body behind its JSON"
            )
        raw[place] = tail[at : at + size]
        at += size
    if at != len(tail):
        raise BadRequest(
            f"the body has {len(tail)} bytes behind its JSON, and the inputs' binary_data_size add up to {at}"
        )
    return raw


def _array(
    tensor: dict[str, Any], spec: TensorSpec, max_rows: int, raw: Raw | None, any_bool: bool
) -> np.ndarray[Any, Any]:
    """The data of one tensor, from JSON or ``raw``, as an array of the specified type and shape."""
    datatype = tensor.get("datatype")
    if datatype != spec.datatype:
        raise BadRequest(f"input {spec.name!r} has datatype {shown(datatype)}; expected {spec.datatype!r}")
    shape = tensor.get("shape")
    if not isinstance(shape, list) or any(type(axis) is not int or axis < 0 for axis in shape):
        raise BadRequest(f"input {spec.name!r}: 'shape' must be a list of whole numbers, not {shown(shape)}")
    if not shape or not spec.fits(shape[1:]):
        batch = "the batch" if spec.length_axis is None else "the batch or any length"
        raise BadRequest(f"input {spec.name!r} has shape {shown(shape)}; expected {list(spec.shape)}, -1 being {batch}")
    if shape[0] == 0:
        raise BadRequest(f"input {spec.name!r} has shape {shape}, an empty batch; send at least one item")
    if shape[0] > max_rows:
        raise BadRequest(
            f"the batch has {shape[0]} items and may have {max_rows} at most; split it into several requests"
        )
    if tensor.get("parameters"):
        refuse_not_served(f"input {spec.name!r}", parameters_of(tensor))
    if raw is not None:
        if tensor.get("data") is not None:
            raise BadRequest(f"input {spec.name!r} has 'data' and binary_data_size; send one of them")
        array = from_raw(raw, shape, spec)
    elif "data" not in tensor:
        if "binary_data_size" in parameters_of(tensor):
            raise BadRequest(f"input {spec.name!r} has no 'data'; {NO_HEADER}")
        raise BadRequest(f"input {spec.name!r} has no 'data'; send values in JSON, or raw with binary_data_size")
    elif spec.datatype in ONLY_BINARY:
        raise BadRequest(
            f"input {spec.name!r} is {spec.datatype}, which JSON cannot hold; send it with binary_data_size"
        )
    else:
        array = typed(flat(tensor["data"], shape, spec), spec, any_bool).reshape(shape)
    if spec.dtype.kind == "f" and not spec.allow_nan and not _finite(array):
        raise BadRequest(f"input {spec.name!r} holds NaN or a value beyond {spec.datatype}; send finite numbers")
    return array


def _check_texts(array: np.ndarray[Any, Any], spec: TensorSpec) -> None:
    """Refuse elements that are no UTF-8, for models of text."""
    elements = array.reshape(-1).tolist()
    if bytes in set(map(type, elements)):
        number = next(number for number, each in enumerate(elements) if type(each) is bytes)
        raise BadRequest(
            f"input {spec.name!r}: element {number} is no UTF-8, and the models of this endpoint take text"
        )


def _finite(array: np.ndarray[Any, Any]) -> bool:
    """Whether all values are.

    Of many the sum of squares is quicker than a look at each, and is finite only where they are. FP16 has no such sum
    that is quick.
    """
    if array.size > MANY and array.itemsize > 2:
        flat = array.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(np.dot(flat, flat)):
                return True
    return bool(np.isfinite(array).all())
