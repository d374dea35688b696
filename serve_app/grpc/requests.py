"""Requests over gRPC to those that the router takes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from catalog.errors import BadRequest
from catalog.tensor import DTYPES
from serve_app.grpc.protocol import inference_pb2 as pb
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.raw_tensors import Raw, pack_elements
from serve_app.oip.request import InferRequest, read
from serve_app.oip.words import shown

CONTENTS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}
"""The field of typed contents by datatype; FP16 and BF16 have none and go raw."""


def decode(request: pb.ModelInferRequest, endpoint: EndpointInfo) -> InferRequest:
    """Check a request; raises `BadRequest`."""
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        raise BadRequest(
            f"raw_input_contents has {len(raw)} entries for {len(request.inputs)} inputs; send one for each, or none"
        )
    if raw and (doubled := [each.name for each in request.inputs if each.contents.ByteSize()]):
        raise BadRequest(f"input {shown(doubled[0])} has contents beside raw_input_contents; send one of them")
    tensors = [
        {
            "name": each.name,
            "shape": list(each.shape),
            "datatype": each.datatype,
            "parameters": values(each.parameters),
        }
        for each in request.inputs
    ]
    content = {
        "inputs": tensors,
        "outputs": [{"name": each.name, "parameters": values(each.parameters)} for each in request.outputs],
        "parameters": values(request.parameters),
        **({"id": request.id} if request.id else {}),
    }
    given = raw or [_packed(each) for each in request.inputs]
    return read(content, endpoint, dict(enumerate(given)))


def values(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON has them; those without a value are left out."""
    chosen = {key: each.WhichOneof("parameter_choice") for key, each in parameters.items()}
    return {key: getattr(parameters[key], field) for key, field in chosen.items() if field is not None}


def _packed(tensor: pb.ModelInferRequest.InferInputTensor) -> Raw:
    """The typed contents of a tensor as raw bytes, so that there is one way to check them; raises `BadRequest`."""
    field = CONTENTS.get(tensor.datatype)
    if field is None and tensor.datatype not in DTYPES:
        return b""  # which is said where the datatype is checked
    given = () if field is None else getattr(tensor.contents, field)
    if not given and tensor.contents.ByteSize():
        right = "goes in raw_input_contents" if field is None else f"goes in {field}, which has none"
        raise BadRequest(f"input {shown(tensor.name)} has contents, and {shown(tensor.datatype)} {right}")
    if field is None:
        return b""
    if field == "bytes_contents":
        return pack_elements(given)
    dtype = DTYPES[tensor.datatype]
    wide = np.array(given, np.int64 if dtype.kind == "i" else np.uint64 if dtype.kind == "u" else dtype)
    if dtype.kind in "iu" and wide.size:
        bounds = np.iinfo(dtype)
        if wide.min() < bounds.min or wide.max() > bounds.max:
            raise BadRequest(f"input {shown(tensor.name)}: a value does not fit {tensor.datatype}")
    return wide.astype(dtype.newbyteorder("<")).tobytes()
