"""What queries carry: request bodies, encoded before the run so that sending one costs little."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from catalog.errors import ConfigError
from catalog.tensor import DTYPES, TensorSpec
from serve_app.loadgen.binary_bodies import binary_bodies
from serve_app.loadgen.builtin_data import BUILTIN
from serve_app.loadgen.model_metadata import LABEL_OUTPUT, ModelMetadata
from serve_app.loadgen.npz_file import read_npz
from serve_app.oip.request import ONLY_BINARY

Label = int | str
Labels = tuple[Label | None, ...]
DATATYPES = {dtype: name for name, dtype in DTYPES.items() if name not in ("BF16", "BYTES")}

UNKNOWN = ModelMetadata()
"""Of an endpoint that was not asked."""

JSON_BYTES = "Inference-Header-Content-Length"
"""Header of a body that has raw tensors behind its JSON: how many bytes the JSON has."""


@dataclass(frozen=True)
class Dataset:
    """Encoded requests and, at the same index, the true labels; ``labels`` is None where no request has one.

    ``ids`` are those in the bodies: an answer with another one is an error. ``of_emulated`` says that labels hold for
    answers of emulated variants too, whose outputs are recorded for these very requests. ``json_bytes`` is how much of
    each body is JSON, with raw tensors behind; None where all of it is.
    """

    bodies: tuple[bytes, ...]
    labels: Labels | None = None
    ids: tuple[str, ...] | None = None
    of_emulated: bool = False
    json_bytes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not self.bodies:
            raise ConfigError("a data set without a single request; give one that holds at least one")

    def headers(self, index: int) -> dict[str, str] | None:
        """What goes with request ``index`` alone."""
        if self.json_bytes is None:
            return None
        return {JSON_BYTES: str(self.json_bytes[index]), "Content-Type": "application/octet-stream"}

    def label(self, index: int) -> Label | None:
        """True label of request ``index``, None where unknown."""
        return None if self.labels is None else self.labels[index]


def load_dataset(
    source: str, slo_ms: float | None = None, *, binary: bool = False, endpoint: ModelMetadata = UNKNOWN
) -> Dataset:
    """``test`` (held-out digits), ``strips`` of them, or a .npz file (arrays named like the inputs, optional
    ``label`` or ``labels``) or .jsonl file.

    ``slo_ms`` goes into every request; None leaves the objective to the endpoint. ``binary`` has tensors go raw behind
    the JSON, both ways. Arrays of a file are cast to what the ``endpoint`` takes (`read_npz`). Raises `ConfigError`.
    """
    check_source(source, binary=binary)
    if source in BUILTIN:
        arrays, labels = BUILTIN[source]()
        return _from_arrays(arrays, _labels(labels), slo_ms, _class_alone(endpoint), binary)
    path = Path(source)
    try:
        if path.suffix == ".npz":
            return _from_npz(path, slo_ms, binary, endpoint)
        return _from_jsonl(path, slo_ms)
    except OSError as error:
        raise ConfigError(f"cannot read data set {path}: {error.strerror or error}; give the path of a file") from error


def check_source(source: str, *, binary: bool = False) -> None:
    """Raise `ConfigError` where no data set can have this name, or none that goes as bytes where it is ``binary``."""
    if source in BUILTIN:
        return
    path = Path(source)
    if path.suffix not in (".npz", ".jsonl"):
        raise ConfigError(
            f"unknown data set {source!r}; use {', '.join(BUILTIN)}, or the path of a .npz or .jsonl file"
        )
    if binary and path.suffix == ".jsonl":
        raise ConfigError(
            f"data set {path} has requests in JSON, which are sent as they are; for bytes give a .npz file"
        )


def _class_alone(endpoint: ModelMetadata) -> dict[str, Any]:
    """Field of requests that asks for the output with the class alone, which keeps answers short."""
    if not endpoint.outputs:
        return {"outputs": [{"name": LABEL_OUTPUT}]}
    found = endpoint.class_output
    return {} if found is None else {"outputs": [{"name": found.name}]}


def encode_request(request: Any, slo_ms: float | None) -> tuple[bytes, Label | None]:
    """Body to send for an OIP request and its label, if a top-level ``label`` gives one; raises `ConfigError`."""
    if not isinstance(request, dict) or not isinstance(request.get("inputs"), list):
        raise ConfigError("a request must be a JSON object with a list 'inputs', as in the Open Inference Protocol")
    body = {key: value for key, value in request.items() if key != "label"}
    label = request.get("label")
    if label is not None and not isinstance(label, int | str):
        raise ConfigError(f"label {label!r} must be an integer or a string")
    if slo_ms is not None:
        parameters = body.get("parameters")
        if not isinstance(parameters, dict | None):
            raise ConfigError(f"request parameters {parameters!r} must be a JSON object")
        body["parameters"] = {**(parameters or {}), "slo_ms": slo_ms}
    return orjson.dumps(body), label


def _from_npz(path: Path, slo_ms: float | None, binary: bool, endpoint: ModelMetadata) -> Dataset:
    arrays, labels = read_npz(path, endpoint.inputs)
    specs = {spec.name: spec for spec in endpoint.inputs}
    try:
        known = None if labels is None else _labels(labels, any_value=endpoint.not_compared() is not None)
        return _from_arrays(arrays, known, slo_ms, {}, binary, specs)
    except ConfigError as error:
        raise ConfigError(f"data set {path}: {error}") from error


def _from_arrays(
    arrays: Mapping[str, NDArray[Any]],
    labels: Labels | None,
    slo_ms: float | None,
    extra: Mapping[str, Any],
    binary: bool,
    specs: Mapping[str, TensorSpec] = MappingProxyType({}),
) -> Dataset:
    """``specs`` are of inputs whose arrays are in the form that the endpoint takes; others go as they are."""
    datatypes = {
        name: specs[name].datatype if name in specs else _datatype(name, array) for name, array in arrays.items()
    }
    if binary:
        sent = {name: TensorSpec(name, datatypes[name], (-1, *array.shape[1:])) for name, array in arrays.items()}
        bodies, json_bytes = binary_bodies(arrays, sent, slo_ms, extra)
        return Dataset(bodies, labels, json_bytes=json_bytes)
    columns = [_items(name, array, datatypes[name]) for name, array in arrays.items()]
    requests = ({"inputs": list(inputs), **extra} for inputs in zip(*columns, strict=True))
    return Dataset(tuple(encode_request(request, slo_ms)[0] for request in requests), labels)


def _labels(labels: NDArray[Any], any_value: bool = False) -> Labels:
    """The label of each item: numbers without a fraction are classes by number, as `accord evaluate` has them.

    Raises `ConfigError` where they are no classes; with ``any_value``, for answers that are not compared, those are
    unknown labels.
    """
    if labels.dtype.kind == "f" and (np.isfinite(labels) & (labels == np.rint(labels))).all():
        labels = labels.astype(np.int64)
    if labels.ndim == 1 and labels.dtype.kind in "iuU":
        return tuple(labels.tolist())
    if any_value:
        return (None,) * len(labels)
    raise ConfigError(f"labels of dtype {labels.dtype}, shape {list(labels.shape)}; give one integer or str per item")


def _datatype(name: str, array: NDArray[Any]) -> str:
    datatype = "BYTES" if array.dtype.kind == "U" else DATATYPES.get(array.dtype)
    if datatype is None:
        raise ConfigError(f"array {name!r} of dtype {array.dtype}; use one of {', '.join(map(str, DATATYPES))} or str")
    return datatype


def _items(name: str, array: NDArray[Any], datatype: str) -> list[dict[str, Any]]:
    """One OIP input of batch size 1 per item of the first axis."""
    if datatype in ONLY_BINARY:
        raise ConfigError(f"array {name!r} is {datatype}, which JSON cannot hold; send it with `accord load --binary`")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise ConfigError(f"array {name!r} holds NaN or infinity, which JSON cannot carry; remove those items")
        if (array == np.rint(array)).all() and (np.abs(array) < 2**53).all():
            array = array.astype(np.int64)  # 7 is shorter than 7.0 and as good in JSON
    shape = [1, *array.shape[1:]]
    flat = array.reshape(len(array), math.prod(shape))
    return [{"name": name, "shape": shape, "datatype": datatype, "data": row.tolist()} for row in flat]


def _from_jsonl(path: Path, slo_ms: float | None) -> Dataset:
    encoded = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            encoded.append(encode_request(orjson.loads(line), slo_ms))
        except (orjson.JSONDecodeError, ConfigError) as error:
            raise ConfigError(f"data set {path}, line {number}: {error}") from error
    if not encoded:
        raise ConfigError(f"data set {path} holds no request; write one JSON request per line")
    bodies, labels = zip(*encoded, strict=True)
    return Dataset(bodies, labels if any(label is not None for label in labels) else None)
