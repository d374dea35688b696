"""Requests and answers with raw tensors behind their JSON."""

from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import BadRequest
from catalog.tensor import TensorSpec
from dispatch.commands import Answer
from dispatch.query import Query
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.answer import encode
from serve_app.oip.request import InferRequest, decode

A, B = TensorSpec("a", "FP32", (-1, 2)), TensorSpec("b", "BYTES", (-1,))
Y = TensorSpec("y", "INT64", (-1,))
INFO = EndpointInfo("pair", {"": "pair"}, (A, B), (Y,), (), 4)
RAW_A = np.arange(4, dtype="<f4").tobytes()
TEXT_B = {"name": "b", "shape": [2], "datatype": "BYTES", "data": ["u", "v"]}


def raw(name: str, shape: list[int], datatype: str, size: Any, **rest: Any) -> dict[str, Any]:
    return {"name": name, "shape": shape, "datatype": datatype, "parameters": {"binary_data_size": size}, **rest}


def sent(inputs: list[Any], tail: bytes, info: EndpointInfo = INFO, **rest: Any) -> InferRequest:
    head = orjson.dumps({"inputs": inputs, **rest})
    return decode(head + tail, info, len(head))


def test_raw_tensors_and_json_may_stand_in_one_request_in_any_order() -> None:
    packed = b"\1\0\0\0u\1\0\0\0v"
    for request in (
        sent([raw("a", [2, 2], "FP32", 16), TEXT_B], RAW_A),
        sent([TEXT_B, raw("a", [2, 2], "FP32", 16)], RAW_A),
        sent([raw("b", [2], "BYTES", 10), raw("a", [2, 2], "FP32", 16)], packed + RAW_A),
    ):
        assert request.inputs["a"].tolist() == [[0, 1], [2, 3]]
        assert request.inputs["b"].tolist() == ["u", "v"]


@pytest.mark.parametrize(
    ("inputs", "tail", "message"),
    [
        ([raw("a", [2, 2], "FP32", 16), TEXT_B], RAW_A[:-1], "binary_data_size is 16, and 15 bytes are left"),
        ([raw("a", [2, 2], "FP32", 16), TEXT_B], RAW_A + b"!", "17 bytes behind its JSON, and .* add up to 16"),
        ([raw("a", [2, 2], "FP32", 8), TEXT_B], RAW_A[:8], r"has 8 bytes; FP32 of shape \[2, 2\] has 16"),
        ([raw("a", [2, 2], "FP32", -1), TEXT_B], RAW_A, "whole number of at least 0, not -1"),
        ([raw("a", [2, 2], "FP32", True), TEXT_B], RAW_A, "whole number of at least 0, not True"),
        ([raw("a", [2, 2], "FP32", 16, data=[1]), TEXT_B], RAW_A, "has 'data' and binary_data_size"),
        ([raw("a", [9, 2], "FP32", 16), TEXT_B], RAW_A, "has 9 items and may have 4"),
        ([raw("a", [2**40, 2], "FP32", 16), TEXT_B], RAW_A, "items and may have 4"),
        ([{"name": "a", "shape": [2, 2], "datatype": "FP32"}, TEXT_B], b"", "has no 'data'"),
        ([{**TEXT_B, "parameters": [1]}], b"", "'parameters' must be an object"),
        ("nothing", b"", "'inputs' must be a list"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(inputs: list[Any], tail: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        sent(inputs, tail)


def test_numbers_that_are_none_are_refused_in_bytes_as_in_json() -> None:
    for wrong in (np.nan, np.inf, -np.inf):
        tail = np.array([0, 1, wrong, 3], "<f4").tobytes()
        with pytest.raises(BadRequest, match="holds NaN or a value beyond FP32"):
            sent([raw("a", [2, 2], "FP32", 16), TEXT_B], tail)
    largest = np.full(4, np.finfo(np.float32).max, "<f4")  # whose sum is infinite
    assert np.isfinite(sent([raw("a", [2, 2], "FP32", 16), TEXT_B], largest.tobytes()).inputs["a"]).all()


def test_a_header_longer_than_the_body_is_refused() -> None:
    with pytest.raises(BadRequest, match="is 9, and the whole body has 2 bytes"):
        decode(b"{}", INFO, 9)


@pytest.mark.parametrize("tail", [b"", RAW_A], ids=["nothing", "a tensor"])
def test_who_sends_raw_tensors_without_the_header_is_told_of_it(tail: bytes) -> None:
    """A gateway may have taken it off."""
    inputs = [raw("a", [2, 2], "FP32", len(RAW_A)), TEXT_B]
    with pytest.raises(BadRequest, match="need the header inference-header-content-length"):
        decode(orjson.dumps({"inputs": inputs}) + tail, INFO)


@pytest.mark.parametrize("datatype", ["FP16", "BF16"])
def test_floats_of_two_bytes_have_no_form_in_json(datatype: str) -> None:
    half = TensorSpec("half", datatype, (-1,))
    info = EndpointInfo("halves", {"": "halves"}, (half,), (half,), (), 4)
    given = {"name": "half", "shape": [1], "datatype": datatype, "data": [1.0]}
    with pytest.raises(BadRequest, match=f"is {datatype}, which JSON cannot hold; send it"):
        sent([given], b"", info)
    with pytest.raises(BadRequest, match=f"is {datatype}, which JSON cannot hold; ask for it"):
        sent([raw("half", [1], datatype, 2)], b"\0\0", info)
    asked = sent([raw("half", [1], datatype, 2)], b"\0\0", info, parameters={"binary_data_output": True})
    assert asked.binary == {"half"}


ANY = b"\2\0\0\0\xff\0\1\0\0\0v"


def test_bytes_that_are_no_utf_8_reach_models_that_take_them_and_no_others() -> None:
    inputs = [raw("a", [2, 2], "FP32", 16), raw("b", [2], "BYTES", len(ANY))]
    with pytest.raises(BadRequest, match="'b': element 0 is no UTF-8, and the models of this endpoint take text"):
        sent(inputs, RAW_A + ANY)
    taking = replace(INFO, any_bytes=True)
    assert sent(inputs, RAW_A + ANY, taking).inputs["b"].tolist() == [b"\xff\0", "v"]


def test_bytes_that_are_no_utf_8_go_back_as_bytes_and_not_in_json() -> None:
    out = TensorSpec("y", "BYTES", (-1,))
    info = EndpointInfo("echo", {"": "echo"}, (B,), (out,), (), 4)
    answer = Answer(Query(1, "echo", 0.0, 1.0), "v", 0.9, {"y": np.array([b"\xff\0", "v"], object)}, 2, 0.1, 0.2, 0.05)
    asked = sent([TEXT_B], b"", info, parameters={"binary_data_output": True})
    content, json_bytes = encode(asked, answer, info, "id")
    assert content[json_bytes:] == ANY
    with pytest.raises(BadRequest, match=r"output 'y' has an element that is no UTF-8, .* ask for it as binary_data"):
        encode(sent([TEXT_B], b"", info), answer, info, "id")
    text = Answer(Query(1, "echo", 0.0, 1.0), "v", 0.9, {"y": np.array([b"u", "v"], object)}, 2, 0.1, 0.2, 0.05)
    assert orjson.loads(encode(sent([TEXT_B], b"", info), text, info, "id").content)["outputs"][0]["data"] == ["u", "v"]


@pytest.mark.parametrize(
    ("rest", "binary"),
    [
        ({}, set()),
        ({"parameters": {"binary_data_output": True}}, {"y"}),
        ({"outputs": [{"name": "y", "parameters": {"binary_data": True}}]}, {"y"}),
        ({"outputs": [{"name": "y"}], "parameters": {"binary_data_output": True}}, {"y"}),
        (
            {
                "outputs": [{"name": "y", "parameters": {"binary_data": False}}],
                "parameters": {"binary_data_output": True},
            },
            set(),
        ),
    ],
)
def test_an_output_goes_as_it_is_asked_for_and_its_own_word_counts_first(
    rest: dict[str, Any], binary: set[str]
) -> None:
    request = sent([raw("a", [2, 2], "FP32", 16), TEXT_B], RAW_A, **rest)
    assert request.binary == binary
    values = np.array([3, -4])
    answer = Answer(Query(1, "pair", 0.0, 1.0), "v", 0.9, {"y": values}, 2, 0.1, 0.2, 0.05)
    content, json_bytes = encode(request, answer, INFO, "id")
    (output,) = orjson.loads(content[:json_bytes])["outputs"]
    if binary:
        assert output == {"name": "y", "datatype": "INT64", "shape": [2], "parameters": {"binary_data_size": 16}}
        assert np.frombuffer(content[json_bytes:], "<i8").tolist() == [3, -4]
    else:
        assert json_bytes is None
        assert output == {"name": "y", "datatype": "INT64", "shape": [2], "data": [3, -4]}


@pytest.mark.parametrize(
    "rest", [{"parameters": {"binary_data_output": 1}}, {"outputs": [{"name": "y", "parameters": 3}]}]
)
def test_a_wish_that_is_none_is_refused(rest: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="parameters"):
        sent([raw("a", [2, 2], "FP32", 16), TEXT_B], RAW_A, **rest)


@given(st.binary(max_size=120), st.integers(0, 200))
def test_any_bytes_and_any_length_are_answered_in_words(body: bytes, json_bytes: int) -> None:
    with pytest.raises(BadRequest):
        decode(body, INFO, json_bytes)


@given(st.data())
def test_a_good_request_with_bytes_changed_is_read_or_refused(data: st.DataObject) -> None:
    head = orjson.dumps({"inputs": [raw("a", [2, 2], "FP32", 16), raw("b", [2], "BYTES", 10)]})
    body = bytearray(head + RAW_A + b"\1\0\0\0u\1\0\0\0v")
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        request = decode(bytes(body), INFO, len(head))
    except BadRequest:
        return
    assert request.inputs["a"].shape == (2, 2)
    assert all(isinstance(each, str) for each in request.inputs["b"])


@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64"])
def test_one_number_that_is_none_is_found_among_many(datatype: str) -> None:
    wide = TensorSpec("w", datatype, (-1, 10_000))
    info = EndpointInfo("wide", {"": "wide"}, (wide,), (Y,), (), 4)
    values = np.full(10_000, np.finfo(wide.dtype).max, wide.dtype)  # whose squares are infinite
    described = [raw("w", [1, 10_000], datatype, values.nbytes)]
    assert np.isfinite(sent(described, values.tobytes(), info).inputs["w"]).all()
    for wrong in (np.nan, np.inf, -np.inf):
        values[4321] = wrong
        with pytest.raises(BadRequest, match="holds NaN or a value beyond"):
            sent(described, values.tobytes(), info)


@pytest.mark.parametrize(
    ("spec", "body", "expected"),
    [
        (TensorSpec("x", "FP32", (-1, 2)), np.array([3, 4], "<f4").tobytes(), [[3.0, 4.0]]),
        (TensorSpec("x", "INT64", (-1,)), np.array([5], "<i8").tobytes(), [5]),
        (TensorSpec("x", "BYTES", (-1,)), "na\u00efve".encode(), ["na\u00efve"]),
        (TensorSpec("x", "BYTES", (-1, 1)), b"u", [["u"]]),
        (TensorSpec("x", "INT64", (-1, -1)), np.array([1, 2, 3], "<i8").tobytes(), [[1, 2, 3]]),
    ],
)
def test_a_body_without_json_is_the_only_tensor_and_answered_in_bytes(
    spec: TensorSpec, body: bytes, expected: list[Any]
) -> None:
    request = decode(body, replace(INFO, inputs=(spec,)), 0)
    assert (request.inputs["x"].tolist(), request.rows) == (expected, 1)
    assert (request.outputs, request.binary, request.id) == (("y",), {"y"}, None)


@pytest.mark.parametrize(
    ("inputs", "body", "message"),
    [
        ((A, B), RAW_A, "is 0, so that the body is a tensor and nothing else, and endpoint 'pair' takes"),
        ((A,), RAW_A, r"has 16 bytes; FP32 of shape \[1, 2\] has 8"),
        ((A,), b"", r"has 0 bytes; FP32 of shape \[1, 2\] has 8"),
        ((TensorSpec("b", "BYTES", (-1, 2)),), b"uv", "several elements of BYTES"),
        ((TensorSpec("b", "BYTES", (-1,)),), b"\xff", "UTF-8"),
    ],
)
def test_a_body_without_json_that_is_not_the_only_tensor_is_told_why(
    inputs: tuple[TensorSpec, ...], body: bytes, message: str
) -> None:
    with pytest.raises(BadRequest, match=message):
        decode(body, replace(INFO, inputs=inputs), 0)
