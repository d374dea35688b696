"""Answers of the router as messages over gRPC."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from catalog.tensor import TensorSpec
from serve_app.grpc.protocol import inference_pb2 as pb
from serve_app.grpc.requests import CONTENTS
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.answer import VERSION, parameters
from serve_app.oip.inference import Inferred
from serve_app.oip.raw_tensors import to_raw
from serve_app.oip.request import InferRequest


def encode(request: InferRequest, inferred: Inferred, endpoint: EndpointInfo, *, raw: bool) -> pb.ModelInferResponse:
    """The message for an answer, with ``raw`` tensors where the request had them.

    A datatype without typed contents has all of them go raw. Parameters that are no plain values go as JSON.
    """
    answer, request_id, marks = inferred
    response = pb.ModelInferResponse(model_name=endpoint.name, model_version=VERSION, id=request_id)
    _put(response.parameters, parameters(answer, endpoint, marks))
    specs = [endpoint.output_by_name[name] for name in request.outputs]
    raw = raw or any(spec.datatype not in CONTENTS for spec in specs)
    for spec in specs:
        array = answer.outputs[spec.name]
        output = response.outputs.add(name=spec.name, datatype=spec.datatype, shape=array.shape)
        if raw:
            response.raw_output_contents.append(bytes(to_raw(array, spec)))
        else:
            getattr(output.contents, CONTENTS[spec.datatype]).extend(_elements(answer.outputs, spec))
    return response


def _elements(outputs: Mapping[str, Any], spec: TensorSpec) -> list[Any]:
    flat = np.ravel(outputs[spec.name])
    if spec.datatype == "BYTES":
        return [each if isinstance(each, bytes) else str(each).encode() for each in flat]
    found: list[Any] = flat.tolist()
    return found


def _put(into: Any, given: Mapping[str, Any]) -> None:
    for key, value in given.items():
        if isinstance(value, bool):
            into[key].bool_param = value
        elif isinstance(value, int):
            into[key].int64_param = value
        elif isinstance(value, float):
            into[key].double_param = value
        else:
            into[key].string_param = value if isinstance(value, str) else orjson.dumps(value).decode()
