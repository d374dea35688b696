"""Requests in, answers out: what is accepted, and what each fault is told."""

import json
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

OUTPUTS = (TensorSpec("label", "INT64", (-1,)), TensorSpec("probabilities", "FP32", (-1, 3)))


def endpoint(*inputs: TensorSpec) -> EndpointInfo:
    specs = inputs or (TensorSpec("image", "FP32", (-1, 2, 2)),)
    return EndpointInfo("digits", {"": "digits"}, specs, OUTPUTS, (), 8)


def tensor(**changes: Any) -> dict[str, Any]:
    return {"name": "image", "shape": [1, 2, 2], "datatype": "FP32", "data": [0, 1, 2, 3]} | changes


def body(*tensors: dict[str, Any], **rest: Any) -> bytes:
    return json.dumps({"inputs": list(tensors) or [tensor()], **rest}).encode()


def test_flat_and_nested_data_are_the_same_tensor() -> None:
    flat = decode(body(), endpoint())
    nested = decode(body(tensor(data=[[[0, 1], [2, 3]]])), endpoint())
    expected = np.array([[[0, 1], [2, 3]]], dtype=np.float32)
    for request in (flat, nested):
        assert request.rows == 1
        assert request.inputs["image"].dtype == np.float32
        np.testing.assert_array_equal(request.inputs["image"], expected)


@given(
    st.lists(
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=4, max_size=4),
        min_size=1,
        max_size=8,
    )
)
def test_finite_floats_survive_the_way_in_bit_for_bit(items: list[list[float]]) -> None:
    data = [value for item in items for value in item]
    request = decode(body(tensor(shape=[len(items), 2, 2], data=data)), endpoint())
    np.testing.assert_array_equal(request.inputs["image"].ravel(), np.array(data, dtype=np.float32))
    assert request.rows == len(items)


@pytest.mark.parametrize(
    ("given_body", "message"),
    [
        (b"{nope", "not JSON"),
        (b"", "not JSON"),
        (b'{"inputs": [{"name": "image", "data": [NaN]}]}', "not JSON"),
        (b"[1]", "must be a JSON object with 'inputs', not a list"),
        (b"{}", r"'inputs' must be a list of tensors \('image' \(FP32 \[-1, 2, 2\]\)\), not nothing"),
        (b'{"inputs": []}', "not an empty list"),
        (b'{"inputs": [3]}', "must be an object with name, shape, datatype and data, not a number"),
        (body(tensor(name="img")), r"input 'img' is unknown; endpoint 'digits' takes 'image' \(FP32 \[-1, 2, 2\]\)"),
        (body(tensor(name=["image"])), "is unknown"),
        (body(tensor(), tensor()), "'image' is given twice"),
        (body(tensor(datatype="INT64")), "datatype 'INT64'; expected 'FP32'"),
        (body(tensor(shape=[1, 4])), r"shape \[1, 4\]; expected \[-1, 2, 2\]"),
        (body(tensor(shape=[1, 2, 3])), r"shape \[1, 2, 3\]; expected \[-1, 2, 2\]"),
        (body(tensor(shape="1x4")), "'shape' must be a list of whole numbers, not '1x4'"),
        (body(tensor(shape=[1, 2, -2])), "'shape' must be a list of whole numbers"),
        (body(tensor(shape=[True, 2, 2])), "'shape' must be a list of whole numbers"),
        (body(tensor(shape=[0, 2, 2], data=[])), "an empty batch; send at least one item"),
        (body(tensor(data=[1, 2, 3])), r"has 3 values; shape \[1, 2, 2\] holds 4"),
        (body(tensor(data=7)), "must be a list, not a number"),
        (body(tensor(data=[[1, 2], [3]])), "must be flat, or nested like its shape"),
        (body(tensor(data=[[1, 2, 3, 4]])), r"must be flat, or nested like its shape \[1, 2, 2\]"),
        (body(tensor(data=[1, 2, 3, None])), "FP32 data cannot hold None"),
        (body(tensor(data=[1, 2, 3, "4"])), "FP32 data cannot hold '4'"),
        (body(tensor(data=[1, 2, 3, 1e39])), "holds NaN or a value beyond FP32"),
        (body({"name": "image", "shape": [1, 2, 2], "datatype": "FP32"}), "has no 'data'"),
        (body(tensor(shape=[9, 2, 2], data=[0] * 36)), "has 9 items and may have 8 at most"),
        (body(id=5), "'id' must be a string, not a number"),
        (body(parameters=[1]), "'parameters' must be an object, not a list"),
        (body(parameters={"slo_ms": 0}), "parameters.slo_ms must be a number, from a microsecond to a day, not 0"),
        (body(parameters={"slo_ms": "fast"}), "not 'fast'"),
        (
            body(parameters={"timeout": True}),
            "parameters.timeout must be a number, .* not True",
        ),
        (body(outputs=[{"name": "logits"}]), "output 'logits' is unknown; endpoint 'digits' gives 'label'"),
        (body(outputs={"name": "label"}), "'outputs' must be a list"),
        (body(outputs=[{"name": {"a": 1}}]), "is unknown"),
    ],
)
def test_a_fault_is_told_with_what_was_expected_and_what_was_given(given_body: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        decode(given_body, endpoint())


@pytest.mark.parametrize(
    ("datatype", "data", "message"),
    [
        ("UINT8", [256], "a value does not fit UINT8"),
        ("UINT8", [-1], "a value does not fit UINT8"),
        ("INT32", [1.5], "INT32 data cannot hold 1.5"),
        ("INT64", [True], "INT64 data cannot hold True"),
        ("BOOL", [1], "BOOL data cannot hold 1"),
        ("BYTES", [3], "BYTES data cannot hold 3"),
        ("FP32", [True], "FP32 data cannot hold True"),
        ("FP16", [1.0], "is FP16, which JSON cannot hold; send it with binary_data_size"),
    ],
)
def test_a_value_that_would_change_on_the_way_is_refused(datatype: str, data: list[Any], message: str) -> None:
    spec = TensorSpec("x", datatype, (-1,))
    with pytest.raises(BadRequest, match=message):
        decode(body({"name": "x", "shape": [1], "datatype": datatype, "data": data}), endpoint(spec))


@pytest.mark.parametrize(
    ("datatype", "data"),
    [
        ("UINT8", [0, 255]),
        ("INT64", [-(2**63), 2**63 - 1]),
        ("UINT64", [2**64 - 1, 1]),
        ("BOOL", [True, False]),
        ("BYTES", ["a", "ü"]),
        ("FP64", [1, 2.5]),
    ],
)
def test_every_kind_of_value_arrives_as_its_datatype(datatype: str, data: list[Any]) -> None:
    spec = TensorSpec("x", datatype, (-1,))
    array = decode(body({"name": "x", "shape": [2], "datatype": datatype, "data": data}), endpoint(spec)).inputs["x"]
    assert array.dtype == spec.dtype
    assert array.tolist() == data


def test_inputs_must_agree_on_the_batch() -> None:
    specs = (TensorSpec("a", "FP32", (-1,)), TensorSpec("b", "FP32", (-1,)))
    a = {"name": "a", "shape": [2], "datatype": "FP32", "data": [1, 2]}
    b = {"name": "b", "shape": [1], "datatype": "FP32", "data": [1]}
    with pytest.raises(BadRequest, match="same first axis"):
        decode(body(a, b), endpoint(*specs))
    with pytest.raises(BadRequest, match="input 'b' is missing"):
        decode(body(a), endpoint(*specs))


def test_the_smaller_of_both_objectives_counts() -> None:
    assert decode(body(), endpoint()).slo_s is None
    assert decode(body(parameters={"slo_ms": 80}), endpoint()).slo_s == pytest.approx(0.08)
    assert decode(body(parameters={"slo_ms": 80, "timeout": 20_000}), endpoint()).slo_s == pytest.approx(0.02)


def test_a_timeout_of_zero_is_none_as_with_triton() -> None:
    assert decode(body(parameters={"timeout": 0}), endpoint()).slo_s is None
    assert decode(body(parameters={"timeout": 0, "slo_ms": 80}), endpoint()).slo_s == pytest.approx(0.08)
    with pytest.raises(BadRequest, match="not False"):
        decode(body(parameters={"timeout": False}), endpoint())


def answer(rows: int = 1) -> Answer:
    outputs = {
        "label": np.arange(rows, dtype=np.int64),
        "probabilities": np.full((rows, 3), 1 / 3, dtype=np.float32),
    }
    return Answer(Query(7, "digits", 1.0, 1.1), "b", 0.91, outputs, 4, 1.01, 1.05, 0.02)


def test_an_answer_names_the_variant_its_accuracy_the_latency_and_the_deadline() -> None:
    request = InferRequest("mine", {}, 1, None, ("label", "probabilities"))
    given = orjson.loads(encode(request, answer(2), endpoint(), "mine").content)
    assert given["id"] == "mine"
    assert given["parameters"] == {
        "variant": "b",
        "expected_accuracy": 0.91,
        "latency_ms": 50.0,
        "queue_ms": 10.0,
        "run_ms": 20.0,
        "batch_size": 4,
        "deadline_met": True,
    }
    assert given["outputs"][0] == {"name": "label", "datatype": "INT64", "shape": [2], "data": [0, 1]}
    assert given["outputs"][1]["shape"] == [2, 3]
    assert len(given["outputs"][1]["data"]) == 6


def test_an_emulated_answer_says_so() -> None:
    request = InferRequest("mine", {}, 1, None, ("label",))
    given = orjson.loads(
        encode(request, answer(), endpoint(), "mine", {"accuracy_source": "measured", "emulated": True}).content
    )
    assert given["parameters"]["emulated"] is True


def test_an_empty_id_is_none() -> None:
    """As over gRPC, where nobody can tell them apart."""
    assert decode(body(id=""), endpoint()).id is None


@pytest.mark.parametrize(
    ("key", "value"), [("classification", 3), ("shared_memory_region", "here")], ids=["classes", "shared memory"]
)
def test_a_tensor_is_not_sent_otherwise_than_its_client_will_look_for_it(key: str, value: Any) -> None:
    outputs = [{"name": "label", "parameters": {key: value}}]
    with pytest.raises(BadRequest, match=f"output 'label': parameters.{key} is of an extension that is not served"):
        decode(body(outputs=outputs), endpoint())
    with pytest.raises(BadRequest, match=f"input 'image': parameters.{key} is of an extension"):
        decode(body(tensor(parameters={key: value})), endpoint())
    assert decode(body(outputs=[{"name": "label", "parameters": {key: type(value)()}}]), endpoint()).outputs == (
        "label",
    )


def test_only_the_wanted_outputs_are_sent_under_the_given_id() -> None:
    request = InferRequest(None, {}, 1, None, ("label",))
    given = orjson.loads(encode(request, answer(), endpoint(), "r-7").content)
    assert [output["name"] for output in given["outputs"]] == ["label"]
    assert given["id"] == "r-7"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["name", "shape", "datatype", "data"]), JSON), JSON)
def test_whatever_json_comes_is_decoded_or_refused_and_nothing_else(changes: dict[str, Any], parameters: Any) -> None:
    for given_body in (body(tensor(**changes)), body(parameters=parameters), body(outputs=parameters)):
        try:
            request = decode(given_body, endpoint())
        except BadRequest:
            continue
        assert request.inputs["image"].shape == (request.rows, 2, 2)


def test_a_long_word_among_numbers_is_refused_without_much_ado() -> None:
    with pytest.raises(BadRequest, match="cannot hold 'aaa") as refused:
        decode(body(tensor(data=[0, 1, 2, "a" * 1_000_000])), endpoint())
    assert len(str(refused.value)) < 200


def test_a_value_nested_too_deep_to_print_is_refused() -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    with pytest.raises(BadRequest, match="is unknown"):
        decode(body(tensor(name=deep)), endpoint())
