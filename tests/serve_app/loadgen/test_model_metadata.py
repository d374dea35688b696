"""What the metadata of an endpoint say of its tensors."""

from dataclasses import replace
from typing import Any

import pytest

from catalog.catalogue import load_catalogue
from catalog.tensor import TensorSpec
from dispatch.ensemble.ballots import Ballots
from serve_app.build.endpoints.ensembles import ballots_of
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.loadgen.model_metadata import ModelMetadata

X = TensorSpec("x", "FP32", (-1, 2))
LABEL = TensorSpec("label", "INT64", (-1,))
SAID = TensorSpec("said", "UINT8", (-1,))
WORD = TensorSpec("label", "BYTES", (-1,))
VALUE = TensorSpec("y", "FP32", (-1,))
SCORES = TensorSpec("scores", "FP32", (-1, 3))
EMBEDDING = TensorSpec("embedding", "FP32", (-1, 8))
VARIANT = load_catalogue("builtin").variants[0]


def giving(*outputs: TensorSpec, labels: int = 0) -> ModelMetadata:
    return ModelMetadata((), outputs, tuple(map(str, range(labels))))


@pytest.mark.parametrize(
    ("endpoint", "output"),
    [
        (giving(LABEL, labels=4), LABEL),
        (giving(SCORES), SCORES),
        (giving(SCORES, labels=3), SCORES),
        (giving(SCORES, SAID, labels=3), SAID),
        (giving(SCORES, SAID), SAID),
        (giving(VALUE, SCORES), SCORES),
        (giving(SAID, labels=2), SAID),
        (giving(SCORES, labels=4), None),
        (giving(SCORES, SAID, labels=4), SAID),
        (giving(EMBEDDING, SCORES, labels=3), SCORES),
        (giving(EMBEDDING, SCORES), None),
        (giving(TensorSpec("scores", "FP32", (-1, 1))), None),
        (giving(VALUE, labels=3), None),
        (giving(TensorSpec("y", "INT64", (-1, 3)), labels=3), None),
    ],
)
def test_the_class_is_read_as_evaluate_reads_it(endpoint: ModelMetadata, output: TensorSpec | None) -> None:
    assert endpoint.class_output == output
    ballots = ballots_of(replace(VARIANT, outputs=endpoint.outputs, labels=endpoint.labels))
    assert _name(ballots) == (None if output is None else output.name)


def _name(ballots: Ballots | None) -> str | None:
    return None if ballots is None else ballots.label or ballots.scores


@pytest.mark.parametrize(
    ("endpoint", "output"),
    [(giving(SAID), SAID), (giving(WORD, SCORES), WORD), (giving(SCORES, LABEL, labels=4), LABEL)],
)
def test_whole_numbers_alone_and_an_output_named_label_need_no_number_of_classes(
    endpoint: ModelMetadata, output: TensorSpec
) -> None:
    assert endpoint.class_output == output


def test_a_row_of_any_length_has_no_scores_of_classes() -> None:
    assert giving(TensorSpec("marks", "FP32", (-1, -1))).class_output is None


def test_it_is_read_from_what_an_endpoint_answers() -> None:
    info = EndpointInfo("two", {"": "two"}, (X,), (SCORES,), ("a", "b", "c"), 4)
    assert ModelMetadata.of(info.metadata(0.1, ("small",), ())) == ModelMetadata((X,), (SCORES,), ("a", "b", "c"))


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"inputs": None, "outputs": [], "parameters": None},
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": [3, 224]}]},
        {"inputs": [{"name": "x", "datatype": "FP8", "shape": [-1]}]},
        {"outputs": [{"name": "x"}]},
    ],
)
def test_tensors_of_other_servers_count_as_unknown(body: dict[str, Any]) -> None:
    assert ModelMetadata.of(body) == ModelMetadata()


def test_it_says_why_answers_are_not_compared() -> None:
    assert giving(SCORES, labels=2).not_compared() == (
        "answers are not compared with labels: no output of classes or scores; the endpoint has scores FP32 [-1, 3] "
        "and 2 labels: scores has 3 columns, and there are 2 labels; correct one of the two"
    )
    assert giving(SCORES).not_compared() is None
    assert giving().not_compared() is None, "what it gives is unknown"


def test_labels_by_names_that_the_endpoint_does_not_have_are_not_compared() -> None:
    named = ModelMetadata((), (SCORES,), ("cat", "dog", "cow"))
    assert named.not_compared(["dog", 1, "2", None]) is None
    assert named.not_compared(["dog", "pig"]) == (
        "answers are not compared with labels: the endpoint has no class 'pig'; it names cat, dog, cow"
    )
    assert str(giving(SCORES).not_compared(["pig"])).endswith("no class 'pig'; it names none")
    assert giving(LABEL).not_compared(["pig"]) is None, "an output named label may give any"
