"""Requests that are the bytes of one tensor: raw binary requests, of Triton's binary tensor extension."""

import math
from typing import Any

from catalog.errors import BadRequest
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.raw_tensors import Raw, element_bytes, pack_elements
from serve_app.oip.words import names


def raw_request(body: bytes, endpoint: EndpointInfo) -> tuple[dict[str, Any], dict[int, Raw]]:
    """What the JSON of such a request would have, and its tensor by place: a batch of one, answered in bytes.

    An element of BYTES is the whole body, without its length. Raises `BadRequest` where the endpoint takes several
    tensors, or several elements of BYTES.
    """
    if len(endpoint.inputs) != 1:
        raise BadRequest(
            "inference-header-content-length is 0, so that the body is a tensor and nothing else, and endpoint "
            f"{endpoint.name!r} takes {names(endpoint.inputs)}; send JSON in front, and its length"
        )
    (spec,) = endpoint.inputs
    item = spec.shape[1:]
    raw: Raw = body
    if spec.datatype == "BYTES":
        if any(axis != 1 for axis in item):
            raise BadRequest(f"input {spec.name!r} has several elements of BYTES; send JSON in front, and its length")
        raw = pack_elements([body])
    elif -1 in item:
        size = element_bytes(spec.datatype) * math.prod(axis for axis in item if axis != -1)
        item = tuple(len(body) // size if axis == -1 else axis for axis in item)
    tensor = {"name": spec.name, "datatype": spec.datatype, "shape": [1, *item]}
    return {"inputs": [tensor], "parameters": {"binary_data_output": True}}, {0: raw}
