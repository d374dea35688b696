"""Which built-in data an endpoint takes, and what is in the sentences that come with Accord."""

from collections import Counter

import orjson
import pytest

from serve_app.loadgen.builtin_data import BUILTIN, INPUTS, OF_TASK, fitting
from serve_app.loadgen.dataset import load_dataset


@pytest.mark.parametrize(
    ("task", "inputs", "data"),
    [
        ("digits", ["image"], "test"),
        ("digits", [], "test"),
        ("digits", ["pixels"], None),
        ("digits", ["image", "mask"], None),
        ("strip-find > digits > strip-check", ["image"], "strips"),
        ("sentiment", ["text"], "reviews"),
        ("sentiment", ["ids"], None),
        ("sentiments", ["text"], None),
    ],
)
def test_an_endpoint_takes_the_data_of_its_task_where_its_inputs_are_those(
    task: str, inputs: list[str], data: str | None
) -> None:
    assert fitting(task, inputs) == data


def test_every_data_set_has_the_input_that_it_is_said_to_have() -> None:
    assert set(OF_TASK.values()) == set(BUILTIN) == set(INPUTS)
    for name, read in BUILTIN.items():
        assert list(read()[0]) == [INPUTS[name]]


def test_reviews_are_different_sentences_half_of_them_positive() -> None:
    data = load_dataset("reviews")
    assert Counter(data.labels or ()) == {"positive": 32, "negative": 32}
    texts = [orjson.loads(body)["inputs"][0]["data"][0] for body in data.bodies]
    assert len(set(texts)) == 64
    assert all(text == text.strip() and "\t" not in text for text in texts)
