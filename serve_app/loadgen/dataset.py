"""What queries carry: request bodies, encoded before the run so that sending one costs little."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import orjson
from numpy.typing import NDArray

from catalog.errors import ConfigError
from catalog.tensor import DTYPES, TensorSpec
from serve_app.loadgen.binary_bodies import binary_bodies
from serve_app.loadgen.builtin_data import BUILTIN
from serve_app.oip.request import ONLY_BINARY

Label = int | str
DATATYPES = {dtype: name for name, dtype in DTYPES.items() if name not in ("BF16", "BYTES")}

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
    labels: tuple[Label | None, ...] | None = None
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


def load_dataset(source: str, slo_ms: float | None = None, *, binary: bool = False) -> Dataset:
    """``test`` (held-out digits), ``strips`` of them, or a .npz file (arrays named like the inputs, optional
    ``label`` or ``labels``) or .jsonl file.

    ``slo_ms`` goes into every request; None leaves the objective to the endpoint. ``binary`` has tensors go raw behind
    the JSON, both ways. Raises `ConfigError`.
    """
    if source in BUILTIN:
        arrays, labels = BUILTIN[source]()
        # asking for the label alone keeps the answer short
        return _from_arrays(arrays, labels, slo_ms, {"outputs": [{"name": "label"}]}, binary)
    path = Path(source)
    if path.suffix not in (".npz", ".jsonl"):
        raise ConfigError(
            f"unknown data set {source!r}; use {', '.join(BUILTIN)}, or the path of a .npz or .jsonl file"
        )
    if binary and path.suffix == ".jsonl":
        raise ConfigError(
            f"data set {path} has requests in JSON, which are sent as they are; for bytes give a .npz file"
        )
    try:
        return _from_npz(path, slo_ms, binary) if path.suffix == ".npz" else _from_jsonl(path, slo_ms)
    except OSError as error:
        raise ConfigError(f"cannot read data set {path}: {error.strerror or error}; give the path of a file") from error


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


def _from_npz(path: Path, slo_ms: float | None, binary: bool) -> Dataset:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (ValueError, TypeError, BadZipFile, EOFError) as error:  # TypeError: a .npy file of another name
        raise ConfigError(f"data set {path}: {error}; write it with numpy.savez, without object arrays") from error
    labels = arrays.pop("labels", None)
    labels = arrays.pop("label", None) if labels is None else labels
    counts = {name: array.shape[:1] for name, array in {**arrays, "labels": labels}.items() if array is not None}
    if not arrays or len(set(counts.values())) != 1 or () in counts.values():
        sizes = ", ".join(f"{name} {list(shape)}" for name, shape in counts.items()) or "no arrays"
        raise ConfigError(
            f"data set {path}: all arrays need the same number of items on their first axis; it has {sizes}"
        )
    try:
        return _from_arrays(arrays, labels, slo_ms, {}, binary)
    except ConfigError as error:
        raise ConfigError(f"data set {path}: {error}") from error


def _from_arrays(
    arrays: Mapping[str, NDArray[Any]],
    labels: NDArray[Any] | None,
    slo_ms: float | None,
    extra: Mapping[str, Any],
    binary: bool,
) -> Dataset:
    if labels is not None and (labels.ndim != 1 or labels.dtype.kind not in "iuU"):
        raise ConfigError(
            f"labels of dtype {labels.dtype}, shape {list(labels.shape)}; give one integer or str per item"
        )
    known = None if labels is None else tuple(labels.tolist())
    if binary:
        specs = {
            name: TensorSpec(name, _datatype(name, array), (-1, *array.shape[1:])) for name, array in arrays.items()
        }
        bodies, json_bytes = binary_bodies(arrays, specs, slo_ms, extra)
        return Dataset(bodies, known, json_bytes=json_bytes)
    columns = [_items(name, array) for name, array in arrays.items()]
    requests = ({"inputs": list(inputs), **extra} for inputs in zip(*columns, strict=True))
    return Dataset(tuple(encode_request(request, slo_ms)[0] for request in requests), known)


def _datatype(name: str, array: NDArray[Any]) -> str:
    datatype = "BYTES" if array.dtype.kind == "U" else DATATYPES.get(array.dtype)
    if datatype is None:
        raise ConfigError(f"array {name!r} of dtype {array.dtype}; use one of {', '.join(map(str, DATATYPES))} or str")
    return datatype


def _items(name: str, array: NDArray[Any]) -> list[dict[str, Any]]:
    """One OIP input of batch size 1 per item of the first axis."""
    datatype = _datatype(name, array)
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
