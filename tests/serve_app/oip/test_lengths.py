"""Requests whose tensors have an axis of any length: what is accepted, and what is refused with which words."""

import json
from typing import Any

import pytest
from length_scene import DOUBLED, IDS, LONGEST, MASK, MEAN, rule

from catalog.errors import BadRequest
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.request import decode

INFO = EndpointInfo("spans", {"": "spans"}, (IDS, MASK), (MEAN, DOUBLED), (), 8, lengths=(rule(),))


def body(shape: list[int], *more: dict[str, Any]) -> bytes:
    size = shape[0] * shape[1]
    ids = {"name": "ids", "shape": shape, "datatype": "FP32", "data": list(range(size))}
    return json.dumps({"inputs": [ids, *more]}).encode()


def mask(shape: list[int]) -> dict[str, Any]:
    return {"name": "mask", "shape": shape, "datatype": "FP32", "data": [1] * (shape[0] * shape[1])}


def test_every_length_up_to_the_longest_is_taken_with_a_mask_or_without() -> None:
    for length in (1, 17, LONGEST):
        request = decode(body([2, length]), INFO)
        assert set(request.inputs) == {"ids"}
        assert request.inputs["ids"].shape == (2, length)
    assert set(decode(body([2, 3], mask([2, 3])), INFO).inputs) == {"ids", "mask"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (body([1, LONGEST + 1]), f"input 'ids' has length {LONGEST + 1} on axis 1; send 1 to {LONGEST}"),
        (body([1, 0]), "has length 0"),
        (body([1, 5], mask([1, 4])), "input 'mask' has length 4, and 'ids' has 5"),
        (
            json.dumps({"inputs": [{"name": "ids", "shape": [1], "datatype": "FP32", "data": [1]}]}).encode(),
            r"has shape \[1\]; expected \[-1, -1\], -1 being the batch or any length",
        ),
    ],
)
def test_what_is_of_no_length_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        decode(content, INFO)


def test_clients_are_told_the_longest() -> None:
    metadata = INFO.metadata(0.1, ("v",), ())
    assert metadata["inputs"][0]["shape"] == [-1, -1]
    assert metadata["parameters"]["longest"] == LONGEST
