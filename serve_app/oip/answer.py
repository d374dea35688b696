"""Open Inference Protocol v2: an answer to bytes, as JSON with the tensors in it or raw behind it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import orjson

from catalog.errors import BadRequest
from dispatch.commands import Answer, StageRun
from dispatch.query import quick
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.raw_tensors import Raw, to_raw
from serve_app.oip.request import InferRequest

VERSION = "1"
"""Of every endpoint: which variants answer is under ``parameters``."""


NO_MARKS: Mapping[str, Any] = MappingProxyType({})


class AnswerBody(NamedTuple):
    """The JSON is the first ``json_bytes`` of the content, None where all of it is JSON."""

    content: bytes
    json_bytes: int | None = None


def encode(
    request: InferRequest, answer: Answer, endpoint: EndpointInfo, request_id: str, marks: Mapping[str, Any] = NO_MARKS
) -> AnswerBody:
    """The answer's body: the outputs, and under ``parameters`` who answered, how well and how fast, and ``marks``."""
    outputs: list[dict[str, Any]] = []
    raw: list[Raw] = []
    for name in request.outputs:
        spec = endpoint.output_by_name[name]
        values = answer.outputs[name]
        if name in request.binary:
            raw.append(to_raw(values, spec))
            form: dict[str, Any] = {"parameters": {"binary_data_size": len(raw[-1])}}
            outputs.append({"name": name, "datatype": spec.datatype, "shape": values.shape, **form})
            continue
        flat = np.ascontiguousarray(values).reshape(-1)
        data = _texts(flat.tolist(), name) if flat.dtype.kind in "OU" else flat
        outputs.append({"name": name, "datatype": spec.datatype, "shape": values.shape, "data": data})
    body = {
        "model_name": endpoint.name,
        "model_version": VERSION,
        "id": request_id,
        "parameters": parameters(answer, endpoint, marks),
        "outputs": outputs,
    }
    content = orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
    return AnswerBody(b"".join([content, *raw]), len(content)) if raw else quick(AnswerBody, (content, None))


def _texts(elements: list[Any], name: str) -> list[Any]:
    """Elements of BYTES as JSON has them; raises `BadRequest` where one is no UTF-8."""
    if bytes not in set(map(type, elements)):
        return elements
    try:
        return [each.decode() if isinstance(each, bytes) else each for each in elements]
    except UnicodeDecodeError:
        raise BadRequest(
            f"output {name!r} has an element that is no UTF-8, which JSON cannot hold; ask for it as binary_data"
        ) from None


def parameters(answer: Answer, endpoint: EndpointInfo, marks: Mapping[str, Any]) -> dict[str, Any]:
    """Who answered, how well and how fast, and ``marks``, in JSON values."""
    found: dict[str, Any] = {
        "variant": answer.variant,
        "expected_accuracy": answer.accuracy,
        "latency_ms": round(answer.latency_s * 1e3, 3),
        "queue_ms": round(answer.queue_s * 1e3, 3),
        "run_ms": round(answer.run_s * 1e3, 3),
        "batch_size": answer.batch_rows,
        "deadline_met": answer.deadline_met,
    }
    if answer.votes:
        found |= {"variants": list(answer.votes), "votes": _votes(answer, endpoint)}
    if answer.stages:
        found["stages"] = [_stage(run) for run in answer.stages]
    found |= marks
    return found


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
