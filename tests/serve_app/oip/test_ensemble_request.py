"""What a client may ask of an ensemble, and what an answer says of its members."""

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

X, LABEL = TensorSpec("x", "FP32", (-1,)), TensorSpec("label", "INT64", (-1,))
NAMES = ("nought", "one", "two")


def endpoint(ensemble: bool = True, labels: tuple[str, ...] = NAMES) -> EndpointInfo:
    return EndpointInfo("digits", {"": "digits"}, (X,), (LABEL,), labels, 8, ensemble=ensemble)


def body(parameters: str | dict[str, Any] | None) -> bytes:
    given = parameters if isinstance(parameters, str) else json.dumps(parameters)
    tensor = json.dumps({"name": "x", "shape": [1], "datatype": "FP32", "data": [0]})
    return f'{{"inputs": [{tensor}], "parameters": {given}}}'.encode()


@pytest.mark.parametrize(
    ("parameters", "accuracy"),
    [(None, None), ({}, None), ({"accuracy": None}, None), ({"accuracy": 0.9}, 0.9), ({"accuracy": 1}, 1.0)],
)
def test_a_query_may_ask_for_an_accuracy(parameters: dict[str, Any] | None, accuracy: float | None) -> None:
    asked = decode(body(parameters), endpoint()).accuracy
    assert asked == accuracy
    assert asked is None or type(asked) is float


def test_an_accuracy_goes_together_with_an_objective() -> None:
    request = decode(body({"accuracy": 0.8, "slo_ms": 40}), endpoint())
    assert (request.accuracy, request.slo_s) == (0.8, pytest.approx(0.04))


@pytest.mark.parametrize(
    "value", ["0", "-0.5", "1.0001", "90", "true", "false", '"0.9"', '"NaN"', "[0.9]", "{}", "1e999"]
)
def test_an_accuracy_that_is_none_is_refused(value: str) -> None:
    message = "parameters.accuracy must be a number above 0 and up to 1, not|not JSON"
    for info in (endpoint(), endpoint(ensemble=False)):
        with pytest.raises(BadRequest, match=message):
            decode(body(f'{{"accuracy": {value}}}'), info)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_in_json_is_no_json(value: str) -> None:
    with pytest.raises(BadRequest, match="not JSON"):
        decode(body(f'{{"accuracy": {value}}}'), endpoint())


def test_an_endpoint_without_an_ensemble_promises_no_accuracy() -> None:
    with pytest.raises(BadRequest, match=r"accuracy is 0.9, and endpoint 'digits' has no ensemble to reach it"):
        decode(body({"accuracy": 0.9}), endpoint(ensemble=False))
    assert decode(body({"accuracy": None}), endpoint(ensemble=False)).accuracy is None


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4))
def test_whatever_accuracy_is_asked_for_is_in_range_or_refused(value: Any) -> None:
    try:
        asked = decode(body({"accuracy": value}), endpoint()).accuracy
    except BadRequest:
        return
    assert asked is None or 0 < asked <= 1


def answer(votes: dict[str, list[int]], rows: int = 1) -> Answer:
    outputs = {"label": np.zeros(rows, np.int64)}
    return Answer(Query(7, "digits", 1.0, 1.1), "+".join(votes) or "b", 0.91, outputs, 4, 1.01, 1.05, 0.02, votes)


def said(votes: dict[str, list[int]], rows: int = 1, **options: Any) -> dict[str, Any]:
    request = InferRequest("mine", {}, rows, None, ("label",))
    info = options.pop("info", endpoint())
    return dict(orjson.loads(encode(request, answer(votes, rows), info, "r-7", **options).content)["parameters"])


def test_an_answer_says_who_voted_and_for_what_by_name() -> None:
    parameters = said({"b": [2], "a": [0]})
    assert parameters["variant"] == "b+a"
    assert parameters["variants"] == ["b", "a"]
    assert parameters["votes"] == {"b": ["two"], "a": ["nought"]}
    assert parameters["expected_accuracy"] == 0.91
    assert "emulated" not in parameters


def test_an_answer_of_several_rows_has_a_vote_for_each_row() -> None:
    votes = {"a": [0, 1, 2], "c": [2, 2, 1]}
    assert said(votes, 3)["votes"] == {"a": ["nought", "one", "two"], "c": ["two", "two", "one"]}


def test_classes_without_names_are_numbers() -> None:
    assert said({"a": [0, 2]}, 2, info=endpoint(labels=()))["votes"] == {"a": [0, 2]}


def test_an_answer_of_a_single_variant_has_no_votes() -> None:
    assert not {"votes", "variants"} & said({}).keys()


def test_an_emulated_ensemble_says_so() -> None:
    assert said({"a": [1]}, marks={"emulated": True})["emulated"] is True
