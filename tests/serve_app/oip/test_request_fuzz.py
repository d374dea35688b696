"""Every body, however wrong, is answered or refused in words; nothing else comes out of the codec."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.errors import BadRequest
from catalog.tensor import DTYPES, TensorSpec
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.request import InferRequest, decode

MANY = settings(max_examples=400)
LONGEST_MESSAGE = 2000
DEEP = b"[" * 900 + b"]" * 900
OUTPUTS = (TensorSpec("label", "INT64", (-1,)), TensorSpec("probabilities", "FP32", (-1, 3)))

WILD_NUMBERS = st.one_of(
    st.sampled_from(
        [0, -1, 1, 2**31, 2**32, 2**53, 2**62, 2**63, 2**64, 2**64 - 1, -(2**63), -(2**63) - 1, 10**30, 10**400]
    ),
    st.sampled_from([5e-324, 1e308, -0.0, 0.5, 1e39, 65520.0, math.nan, math.inf, -math.inf]),
    st.integers(),
    st.floats(),
)
SCALARS = st.one_of(st.none(), st.booleans(), WILD_NUMBERS, st.text(max_size=20))
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
    max_leaves=12,
)


def endpoint(datatype: str = "FP32", ensemble: bool = False) -> EndpointInfo:
    spec = TensorSpec("image", datatype, (-1, 2, 2))
    return EndpointInfo("digits", {"": "digits"}, (spec,), OUTPUTS, (), 8, ensemble=ensemble)


def tolerated(body: bytes, info: EndpointInfo) -> InferRequest | None:
    """What became of a body: a request that holds together, or None where it was refused in a few words."""
    try:
        request = decode(body, info)
    except BadRequest as refused:
        message = str(refused)
        assert 0 < len(message) <= LONGEST_MESSAGE
        message.encode()
        return None
    (spec,) = info.inputs
    array = request.inputs["image"]
    assert array.dtype == spec.dtype
    assert array.shape == (request.rows, *spec.item_shape)
    assert 1 <= request.rows <= info.max_rows
    assert array.dtype.kind != "f" or bool(np.isfinite(array).all())
    assert request.slo_s is None or 1e-6 <= request.slo_s <= 86_400
    assert request.accuracy is None or 0 < request.accuracy <= 1
    assert set(request.outputs) <= set(info.output_by_name)
    return request


@MANY
@given(st.binary(max_size=200))
def test_bytes_are_no_reason_to_fail(body: bytes) -> None:
    tolerated(body, endpoint())


@MANY
@given(JSON)
def test_json_of_any_form_is_refused(content: Any) -> None:
    assert tolerated(json.dumps(content).encode(), endpoint()) is None


@MANY
@given(
    st.sampled_from(list(DTYPES)),
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.one_of(st.just("image"), JSON),
            "datatype": st.one_of(st.sampled_from(list(DTYPES)), JSON),
            "shape": st.one_of(st.just([1, 2, 2]), st.lists(WILD_NUMBERS, max_size=4), JSON),
            "data": st.one_of(
                st.lists(st.one_of(WILD_NUMBERS, SCALARS), min_size=4, max_size=4),
                st.just([[[1, 2], [3, 4]]]),
                JSON,
            ),
            "parameters": JSON,
        },
    ),
    st.fixed_dictionaries({}, optional={"id": JSON, "parameters": JSON, "outputs": JSON}),
    st.booleans(),
)
def test_a_request_with_anything_in_any_field_is_decoded_or_refused(
    datatype: str, changes: dict[str, Any], rest: dict[str, Any], ensemble: bool
) -> None:
    tensor = {"name": "image", "datatype": datatype, "shape": [1, 2, 2], "data": [1, 2, 3, 4]} | changes
    tolerated(json.dumps({"inputs": [tensor], **rest}).encode(), endpoint(datatype, ensemble))


@MANY
@given(
    st.dictionaries(
        st.sampled_from(["slo_ms", "timeout", "accuracy", "priority", "sequence_id", "binary_data_output"]),
        st.one_of(WILD_NUMBERS, SCALARS),
    ),
    st.booleans(),
)
def test_parameters_are_finite_positive_numbers_or_refused(parameters: dict[str, Any], ensemble: bool) -> None:
    tensor = {"name": "image", "datatype": "FP32", "shape": [1, 2, 2], "data": [1, 2, 3, 4]}
    tolerated(json.dumps({"inputs": [tensor], "parameters": parameters}).encode(), endpoint("FP32", ensemble))


@MANY
@given(st.data())
def test_a_good_request_with_bytes_changed_is_decoded_or_refused(data: st.DataObject) -> None:
    tensor = {"name": "image", "datatype": "FP32", "shape": [1, 2, 2], "data": [1, 2, 3, 4]}
    good = bytearray(json.dumps({"id": "a", "inputs": [tensor], "parameters": {"slo_ms": 5}}).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(good) - 1))
        good[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        if not good:
            break
    tolerated(bytes(good), endpoint())


@pytest.mark.parametrize("datatype", list(DTYPES))
@pytest.mark.parametrize("value", [2**62, 2**63, 2**64, -1, -(2**63), 300, 70000, 1e39, 1e5, 0.5, True, "1", None, [1]])
def test_a_value_is_kept_as_it_is_or_refused(datatype: str, value: Any) -> None:
    tensor = {"name": "image", "datatype": datatype, "shape": [1, 2, 2], "data": [value] * 4}
    request = tolerated(json.dumps({"inputs": [tensor]}).encode(), endpoint(datatype))
    if request is not None and request.inputs["image"].dtype.kind in "iub":
        assert request.inputs["image"].ravel().tolist() == [value] * 4


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 1_000_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"inputs":' * 100_000,
        b'{"inputs": [' + b"{" * 100_000,
        b'{"inputs": [{"name": "image", "shape": [1, 2, 2], "datatype": "FP32", "data": '
        + b"[" * 900
        + b"]" * 900
        + b"}]}",
        b'{"a": ' * 900 + b"1" + b"}" * 900,
        b'{"inputs": "' + b"x" * 1_000_000 + b'"}',
        b'{"inputs": [{"name": "' + b"x" * 1_000_000 + b'"}]}',
        b'{"inputs": [{"name": "image", "datatype": "' + b"x" * 1_000_000 + b'"}]}',
        b'{"inputs": [{"name": "\\ud800"}]}',
        b'{"inputs": [{"name": "\xed\xa0\x80"}]}',
        b'{"inputs": [{"name": "a\\u0000b\\u001b[31m\\u202e"}]}',
        b'{"inputs": [' + b"1," * 100_000 + b"1]}",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b"NaN",
        b'{"inputs": [NaN, Infinity, -Infinity]}',
        b"1e999999",
        b"-" * 10_000,
        b"1" * 100_000,
        b'"' + b"\\u0041" * 100_000,
    ],
    ids=range(21),
)
def test_enormous_deep_and_broken_bodies_are_refused_in_a_few_words(body: bytes) -> None:
    assert tolerated(body, endpoint()) is None


@pytest.mark.parametrize(
    "shape",
    [
        [2**62, 4],
        [2**62, 2, 2],
        [2**31, 2, 2],
        [1, 2, 2, 1],
        [-1, 2, 2],
        [1.0, 2, 2],
        [True, 2, 2],
        [1] * 100_000,
        [[1, 2, 2]],
    ],
    ids=range(9),
)
def test_a_shape_that_cannot_be_costs_nothing(shape: Any) -> None:
    tensor = {"name": "image", "datatype": "FP32", "shape": shape, "data": [1, 2, 3, 4]}
    assert tolerated(json.dumps({"inputs": [tensor]}).encode(), endpoint()) is None


def test_the_last_of_doubled_keys_counts_as_in_every_parser_of_python() -> None:
    good = '{"name": "image", "datatype": "FP32", "shape": [1, 2, 2], "data": [1, 2, 3, 4]}'
    request = decode(f'{{"id": "a", "inputs": [], "id": "b", "inputs": [{good}]}}'.encode(), endpoint())
    assert request.id == "b"


def test_an_id_that_is_remembered_has_a_bounded_length() -> None:
    tensor = {"name": "image", "datatype": "FP32", "shape": [1, 2, 2], "data": [1, 2, 3, 4]}
    for length, taken in ((1024, True), (1025, False), (1_000_000, False)):
        request = tolerated(json.dumps({"id": "x" * length, "inputs": [tensor]}).encode(), endpoint())
        assert (request is not None) is taken
