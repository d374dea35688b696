"""What one answer of the server says."""

from dataclasses import dataclass
from typing import Any

import orjson

from serve_app.loadgen.dataset import Label

NO_ANSWER = 0
"""Status of a query that got no HTTP answer."""


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, read. ``error`` and ``error_kind`` are None exactly where the query succeeded.

    ``label`` is the first element of the output named so, None where there is none. ``expected_accuracy`` is a
    ratio, None where the server does not tell; likewise ``deadline_met``. ``emulated`` says that no model gave it.
    """

    status: int
    variant: str | None = None
    expected_accuracy: float | None = None
    deadline_met: bool | None = None
    label: Label | None = None
    error_kind: str | None = None
    error: str | None = None
    emulated: bool = False


def read_answer(status: int, content: bytes) -> Answer:
    """Read what came back; never raises, an answer that makes no sense is an error of kind ``bad_answer``."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        body = None
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
            label=next((output["data"][0] for output in body["outputs"] if output["name"] == "label"), None),
            emulated=parameters.get("emulated") is True,
        )
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        text = f"not an Open Inference Protocol answer: {_start(content)}"
        return Answer(status, error_kind="bad_answer", error=text)


def _refusal(status: int, body: Any, content: bytes) -> Answer:
    fields = body if isinstance(body, dict) else {}
    kind = str(fields.get("reason") or f"http_{status}")
    return Answer(status, error_kind=kind, error=str(fields.get("error") or f"HTTP {status}: {_start(content)}"))


def _start(content: bytes) -> str:
    return repr(content[:120].decode(errors="replace"))
