"""Which built-in data an endpoint takes, and what is in the sentences that come with Accord."""

from collections import Counter
from typing import Any

import orjson
import pytest

from catalog.tensor import TensorSpec
from serve_app.loadgen.builtin_data import BUILTIN, INPUTS, OF_TASK, fitting
from serve_app.loadgen.dataset import load_dataset


def given(name: str, datatype: str, *shape: int) -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": [-1, *shape]}


IMAGE = given("image", "FP32", 12, 12)


@pytest.mark.parametrize(
    ("task", "inputs", "data"),
    [
        ("digits", [IMAGE], "test"),
        ("digits", [given("image", "FP32", 12, -1)], "test"),
        ("digits", [], "test"),
        ("digits", [given("pixels", "FP32", 12, 12)], None),
        ("digits", [IMAGE, given("mask", "FP32", 12, 12)], None),
        ("digits", [given("image", "FP32", 28, 28)], None),
        ("digits", [given("image", "FP32", 144)], None),
        ("digits", [given("image", "UINT8", 12, 12)], None),
        ("strip-find > digits > strip-check", [given("image", "UINT8", 12, 128)], "strips"),
        ("sentiment", [given("text", "BYTES")], "reviews"),
        ("sentiment", [given("ids", "BYTES")], None),
        ("sentiments", [given("text", "BYTES")], None),
    ],
)
def test_an_endpoint_takes_the_data_of_its_task_where_its_inputs_are_those(
    task: str, inputs: list[dict[str, Any]], data: str | None
) -> None:
    assert fitting(task, inputs) == data


def test_every_data_set_has_the_input_that_it_is_said_to_have() -> None:
    assert set(OF_TASK.values()) == set(BUILTIN) == set(INPUTS)
    for name, read in BUILTIN.items():
        ((tensor, array),) = read()[0].items()
        datatype = "BYTES" if array.dtype.kind == "U" else INPUTS[name].datatype
        assert INPUTS[name] == TensorSpec(tensor, datatype, (-1, *array.shape[1:]))
        assert datatype == "BYTES" or array.dtype == INPUTS[name].dtype


def test_reviews_are_different_sentences_half_of_them_positive() -> None:
    data = load_dataset("reviews")
    assert Counter(data.labels or ()) == {"positive": 32, "negative": 32}
    texts = [orjson.loads(body)["inputs"][0]["data"][0] for body in data.bodies]
    assert len(set(texts)) == 64
    assert all(text == text.strip() and "\t" not in text for text in texts)
