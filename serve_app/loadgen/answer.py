"""What one answer of the server says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from catalog.errors import BadRequest
from catalog.tensor import TensorSpec
from serve_app.loadgen.dataset import Label
from serve_app.loadgen.model_metadata import LABEL_OUTPUT
from serve_app.loadgen.timing import Timing
from serve_app.oip.raw_tensors import from_raw

NO_ANSWER = 0
"""Status of a query that got no HTTP answer."""
NO_CLASS = -1
"""Label of an answer whose scores are no numbers, which is never right."""
BAD_ANSWER = "bad_answer"
"""Kind of the error where what came back makes no sense."""


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, read. ``error`` and ``error_kind`` are None exactly where the query succeeded.

    ``label`` is the class of the first row, None where no output tells it, -1 where its scores are no numbers.
    ``expected_accuracy`` is a ratio, None where the server does not tell; likewise ``deadline_met``. ``emulated`` says
    that no model gave it. ``id`` names the query that it answers, ``timing`` is None where the server does not tell.
    """

    status: int
    variant: str | None = None
    expected_accuracy: float | None = None
    deadline_met: bool | None = None
    label: Label | None = None
    error_kind: str | None = None
    error: str | None = None
    emulated: bool = False
    id: str | None = None
    timing: Timing | None = None


def read_answer(
    status: int, content: bytes, json_bytes: str | None = None, class_output: TensorSpec | None = None
) -> Answer:
    """Read what came back; never raises, an answer that makes no sense is an error of kind ``bad_answer``.

    ``json_bytes`` is the header that says how many bytes of it are JSON, with raw tensors behind. ``class_output`` says
    the class (`ModelMetadata.class_output`) where no output is named ``label``.
    """
    try:
        in_json = _json_size(content, json_bytes)
        body = orjson.loads(content[:in_json])
    except ValueError:  # it is no JSON, or `json_bytes` has more digits than Python converts
        in_json, body = len(content), None
    if status != 200:
        return _refusal(status, body, content)
    try:
        parameters = body.get("parameters", {})
        variant = parameters.get("variant", body.get("model_name"))
        accuracy = parameters.get("expected_accuracy")
        met = parameters.get("deadline_met")
        return Answer(
            status,
            variant=None if variant is None else str(variant),
            expected_accuracy=None if accuracy is None else float(accuracy),
            deadline_met=None if met is None else bool(met),
            label=_label(body["outputs"], content[in_json:], class_output),
            emulated=parameters.get("emulated") is True,
            id=body.get("id"),
            timing=Timing.of(parameters),
        )
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, BadRequest):
        text = f"not an Open Inference Protocol answer: {_start(content)}"
        return Answer(status, error_kind=BAD_ANSWER, error=text)


def read_response(content: bytes, json_bytes: str | None = None) -> dict[str, Any]:
    """The whole of an answer that `read_answer` could read, with the data of raw tensors as in JSON."""
    at = _json_size(content, json_bytes)
    body: dict[str, Any] = orjson.loads(content[:at])
    for output in body["outputs"]:
        size_bytes = output.get("parameters", {}).get("binary_data_size")
        if size_bytes is not None:
            output["data"] = _flat(content[at : at + size_bytes], output)
            at += size_bytes
    return body


def _json_size(content: bytes, json_bytes: str | None) -> int:
    """How many bytes are JSON: all of them where the header does not tell."""
    return len(content) if json_bytes is None or not json_bytes.isdecimal() else int(json_bytes)


def _flat(raw: bytes, output: Mapping[str, Any]) -> list[Any]:
    spec = TensorSpec(output["name"], output["datatype"], (-1, *output["shape"][1:]))
    values = from_raw(raw, output["shape"], spec).reshape(-1).tolist()
    return [each.decode(errors="replace") if isinstance(each, bytes) else each for each in values]


def _label(outputs: Sequence[Mapping[str, Any]], tail: bytes, class_output: TensorSpec | None) -> Label | None:
    """The class of the first row by the output ``label``, else by ``class_output``; either may be raw in the
    ``tail``."""
    at = 0
    values: dict[str, Sequence[Any]] = {}
    for output in outputs:
        size_bytes = output.get("parameters", {}).get("binary_data_size")
        if output["name"] == LABEL_OUTPUT or (class_output is not None and output["name"] == class_output.name):
            values[output["name"]] = output["data"] if size_bytes is None else _flat(tail[at : at + size_bytes], output)
        at += size_bytes or 0
    if LABEL_OUTPUT in values:
        found: Label = values[LABEL_OUTPUT][0]
        return found
    if class_output is None or class_output.name not in values:
        return None
    return _class(values[class_output.name], class_output)


def _class(values: Sequence[Any], spec: TensorSpec) -> int:
    """The class of the first row by an output of whole numbers [-1], or of scores [-1, classes].

    Raises ValueError, IndexError or TypeError where values are missing or are no numbers.
    """
    if len(spec.shape) == 1:
        return int(values[0])
    scores = np.asarray(values, np.float64).reshape(-1)[: spec.shape[1]]  # other servers nest rows
    if len(scores) != spec.shape[1]:
        raise ValueError(f"{len(scores)} scores for {spec.shape[1]} classes")
    return NO_CLASS if np.isnan(scores).any() else int(scores.argmax())


def _refusal(status: int, body: Any, content: bytes) -> Answer:
    fields = body if isinstance(body, dict) else {}
    kind = str(fields.get("reason") or f"http_{status}")
    return Answer(status, error_kind=kind, error=str(fields.get("error") or f"HTTP {status}: {_start(content)}"))


def _start(content: bytes) -> str:
    return repr(content[:120].decode(errors="replace"))
