"""Open Inference Protocol v2, JSON form: a request's bytes to tensors, and an answer to bytes.

Data may be flat in row-major order or nested; answers are flat. Everything that is wrong with a request is a
`BadRequest` that says what was expected and what was given.
"""

import math
import reprlib
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import orjson

from catalog.errors import BadRequest
from catalog.tensor import Arrays, TensorSpec
from dispatch.commands import Answer, StageRun
from serve_app.http.endpoint_info import EndpointInfo

_NUMBERS = {int, float}
_PYTHON_TYPES: dict[str, set[type]] = {
    "BOOL": {bool},
    "BYTES": {str},
    "FP16": _NUMBERS,
    "FP32": _NUMBERS,
    "FP64": _NUMBERS,
}
"""What JSON values a datatype takes; whole numbers alone where it is not listed."""


@dataclass(frozen=True, slots=True)
class InferRequest:
    """A decoded request: ``rows`` stacked items, and what the client asked for beside them.

    ``slo_s`` is the client's own latency objective, ``accuracy`` (0 to 1) what it asks of an ensemble at least; None is
    for the endpoint's. ``outputs`` are the tensors it wants.
    """

    id: str | None
    inputs: Arrays
    rows: int
    slo_s: float | None
    outputs: tuple[str, ...]
    accuracy: float | None = None


def decode(body: bytes, endpoint: EndpointInfo) -> InferRequest:
    """Decode and check a request body; raises `BadRequest`."""
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    if not isinstance(request, dict):
        raise BadRequest(f"the body must be a JSON object with 'inputs', not {_kind(request)}")
    given = request.get("inputs")
    if not isinstance(given, list) or not given:
        raise BadRequest(f"'inputs' must be a list of tensors ({_names(endpoint.inputs)}), not {_kind(given)}")
    arrays: Arrays = {}
    for tensor in given:
        if not isinstance(tensor, dict):
            raise BadRequest(
                f"each of 'inputs' must be an object with name, shape, datatype and data, not {_kind(tensor)}"
            )
        name = tensor.get("name")
        spec = endpoint.input_by_name.get(name) if isinstance(name, str) else None
        if spec is None:
            raise BadRequest(
                f"input {_shown(name)} is unknown; endpoint {endpoint.name!r} takes {_names(endpoint.inputs)}"
            )
        if spec.name in arrays:
            raise BadRequest(f"input {spec.name!r} is given twice")
        arrays[spec.name] = _array(tensor, spec)
    missing = [spec.name for spec in endpoint.inputs if spec.name not in arrays]
    if missing:
        raise BadRequest(f"input {missing[0]!r} is missing; endpoint {endpoint.name!r} takes {_names(endpoint.inputs)}")
    sizes = {name: len(array) for name, array in arrays.items()}
    rows = next(iter(sizes.values()))
    if any(size != rows for size in sizes.values()):
        raise BadRequest(f"all inputs must have the same first axis, the batch; given {sizes}")
    if rows > endpoint.max_rows:
        raise BadRequest(
            f"the batch has {rows} items and may have {endpoint.max_rows} at most; split it into several requests"
        )
    request_id = request.get("id")
    if request_id is not None and not isinstance(request_id, str):
        raise BadRequest(f"'id' must be a string, not {_kind(request_id)}")
    parameters = _parameters(request)
    wanted, accuracy = _wanted(request, endpoint), _accuracy(parameters, endpoint)
    return InferRequest(request_id, arrays, rows, _slo_s(parameters), wanted, accuracy)


def encode(
    request: InferRequest, answer: Answer, endpoint: EndpointInfo, fallback_id: str, emulated: bool = False
) -> bytes:
    """The answer's body: the outputs, and under ``parameters`` who answered, how well and how fast.

    ``emulated`` marks an answer that no model gave.
    """
    outputs = []
    for name in request.outputs:
        spec = endpoint.output_by_name[name]
        values = answer.outputs[name]
        flat = np.ascontiguousarray(values).reshape(-1)
        data = flat.tolist() if flat.dtype.kind in "OU" or flat.dtype == np.float16 else flat
        outputs.append({"name": name, "datatype": spec.datatype, "shape": values.shape, "data": data})
    body: dict[str, Any] = {
        "model_name": endpoint.name,
        "model_version": "1",
        "id": request.id if request.id is not None else fallback_id,
        "parameters": {
            "variant": answer.variant,
            "expected_accuracy": answer.accuracy,
            "latency_ms": round(answer.latency_s * 1e3, 3),
            "queue_ms": round(answer.queue_s * 1e3, 3),
            "run_ms": round(answer.run_s * 1e3, 3),
            "batch_size": answer.batch_rows,
            "deadline_met": answer.deadline_met,
        },
        "outputs": outputs,
    }
    if answer.votes:
        body["parameters"] |= {"variants": list(answer.votes), "votes": _votes(answer, endpoint)}
    if answer.stages:
        body["parameters"]["stages"] = [_stage(run) for run in answer.stages]
    if emulated:
        body["parameters"]["emulated"] = True
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def _votes(answer: Answer, endpoint: EndpointInfo) -> dict[str, Any]:
    """What every member said of every row, by the name of the class where it has one."""
    labels = endpoint.labels
    return {m: [labels[each] if labels else each for each in said] for m, said in answer.votes.items()}


def _stage(run: StageRun) -> dict[str, Any]:
    """What a stage of a pipeline took, from when its jobs were made until the last had a result."""
    return {
        "stage": run.stage,
        "variant": run.variant,
        "jobs": run.jobs,
        "queue_ms": round((run.launched_s - run.began_s) * 1e3, 3),
        "run_ms": round(run.run_s * 1e3, 3),
        "latency_ms": round((run.done_s - run.began_s) * 1e3, 3),
    }


def _array(tensor: dict[str, Any], spec: TensorSpec) -> np.ndarray[Any, Any]:
    """The data of one tensor, as an array of the specified type and shape."""
    datatype = tensor.get("datatype")
    if datatype != spec.datatype:
        raise BadRequest(f"input {spec.name!r} has datatype {_shown(datatype)}; expected {spec.datatype!r}")
    shape = tensor.get("shape")
    if not isinstance(shape, list) or any(type(axis) is not int or axis < 0 for axis in shape):
        raise BadRequest(f"input {spec.name!r}: 'shape' must be a list of whole numbers, not {_shown(shape)}")
    if len(shape) != len(spec.shape) or tuple(shape[1:]) != spec.item_shape:
        raise BadRequest(
            f"input {spec.name!r} has shape {_shown(shape)}; expected {list(spec.shape)}, -1 being the batch"
        )
    if shape[0] == 0:
        raise BadRequest(f"input {spec.name!r} has shape {shape}, an empty batch; send at least one item")
    if "data" not in tensor:
        raise BadRequest(f"input {spec.name!r} has no 'data'; send numbers in JSON (binary tensors are not served)")
    values = _flat(tensor["data"], shape, spec)
    return _typed(values, spec).reshape(shape)


def _flat(data: Any, shape: list[int], spec: TensorSpec) -> list[Any]:
    """The values in row-major order, from flat data or from data nested like the shape."""
    if not isinstance(data, list):
        raise BadRequest(f"input {spec.name!r}: 'data' must be a list, not {_kind(data)}")
    expected = math.prod(shape)
    if len(shape) == 1 or not data or not isinstance(data[0], list):
        if len(data) != expected:
            raise BadRequest(f"input {spec.name!r} has {len(data)} values; shape {shape} holds {expected}")
        return data
    level: list[Any] = [data]
    for axis in shape:
        if any(not isinstance(part, list) or len(part) != axis for part in level):
            raise BadRequest(f"input {spec.name!r}: 'data' must be flat, or nested like its shape {shape}")
        level = list(chain.from_iterable(level))
    return level


def _typed(values: list[Any], spec: TensorSpec) -> np.ndarray[Any, Any]:
    """Values as JSON gave them to an array, refusing whatever would change on the way."""
    allowed = _PYTHON_TYPES.get(spec.datatype, {int})
    types = set(map(type, values))  # before numpy sees them: it would make one wide string array of a stray word
    if not types <= allowed:
        wrong = next(value for value in values if type(value) not in allowed)
        raise BadRequest(
            f"input {spec.name!r}: {spec.datatype} data cannot hold {_shown(wrong)}; send values of that type"
        )
    try:
        with np.errstate(over="ignore"):
            array = np.array(values, dtype=spec.dtype)
    except OverflowError as error:
        raise BadRequest(f"input {spec.name!r}: a value does not fit {spec.datatype}") from error
    if spec.dtype.kind == "f" and not spec.allow_nan and not np.isfinite(array).all():
        raise BadRequest(f"input {spec.name!r} holds NaN or a value beyond {spec.datatype}; send finite numbers")
    return array


def _parameters(request: dict[str, Any]) -> dict[str, Any]:
    parameters = request.get("parameters")
    if parameters is not None and not isinstance(parameters, dict):
        raise BadRequest(f"'parameters' must be an object, not {_kind(parameters)}")
    return parameters or {}


def _accuracy(parameters: dict[str, Any], endpoint: EndpointInfo) -> float | None:
    """The accuracy that the client asks for, which only an ensemble takes."""
    value = parameters.get("accuracy")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise BadRequest(f"parameters.accuracy must be a number above 0 and up to 1, not {_shown(value)}")
    if not endpoint.ensemble:
        raise BadRequest(
            f"parameters.accuracy is {value}, and endpoint {endpoint.name!r} has no ensemble to reach it with; "
            "leave it out: the most accurate variant that is in time answers"
        )
    return float(value)


def _slo_s(parameters: dict[str, Any]) -> float | None:
    """The client's objective in seconds: the smaller of ``slo_ms`` and ``timeout`` (microseconds, as Triton has it)."""
    asked = []
    for key, per_s in (("slo_ms", 1e3), ("timeout", 1e6)):
        value = parameters.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise BadRequest(f"parameters.{key} must be a positive number, not {_shown(value)}")
        asked.append(value / per_s)
    return min(asked, default=None)


def _wanted(request: dict[str, Any], endpoint: EndpointInfo) -> tuple[str, ...]:
    """Names of the outputs to send: all, or those that the client lists."""
    outputs = request.get("outputs")
    if not outputs:
        return tuple(endpoint.output_by_name)
    if not isinstance(outputs, list):
        raise BadRequest(f"'outputs' must be a list of objects with a name, not {_kind(outputs)}")
    names = [output.get("name") if isinstance(output, dict) else output for output in outputs]
    for name in names:
        if not isinstance(name, str) or name not in endpoint.output_by_name:
            raise BadRequest(
                f"output {_shown(name)} is unknown; endpoint {endpoint.name!r} gives {_names(endpoint.outputs)}"
            )
    return tuple(dict.fromkeys(str(name) for name in names))


def _names(specs: tuple[TensorSpec, ...]) -> str:
    return ", ".join(f"{spec.name!r} ({spec.datatype} {list(spec.shape)})" for spec in specs)


def _shown(value: Any) -> str:
    """A client's value in a message: short, however long or deep it is."""
    return reprlib.repr(value)


def _kind(value: Any) -> str:
    kinds = {
        type(None): "nothing",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
    }
    if value == []:
        return "an empty list"
    return kinds.get(type(value), "an object")
