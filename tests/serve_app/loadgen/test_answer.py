import numpy as np
import orjson
import pytest

from catalog.tensor import TensorSpec
from dispatch.commands import Answer as Given
from dispatch.query import Query
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.loadgen.answer import Answer, read_answer, read_response
from serve_app.loadgen.timing import Timing
from serve_app.oip.answer import encode
from serve_app.oip.request import InferRequest


def test_a_full_answer_is_read() -> None:
    content = orjson.dumps(
        {
            "model_name": "digits",
            "parameters": {"variant": "small", "expected_accuracy": 0.9, "deadline_met": True},
            "outputs": [{"name": "probabilities", "data": [0.1]}, {"name": "label", "data": [7]}],
        }
    )
    assert read_answer(200, content) == Answer(200, "small", 0.9, True, 7)


@pytest.mark.parametrize(("datatype", "label"), [("INT64", 7), ("BYTES", "cat")])
def test_a_label_among_bytes_is_read(datatype: str, label: int | str) -> None:
    scores, labels = TensorSpec("scores", "FP16", (-1, 2)), TensorSpec("label", datatype, (-1,))
    info = EndpointInfo("digits", {"": "digits"}, (scores,), (scores, labels), (), 4)
    request = InferRequest("1", {}, 1, None, ("scores", "label"), binary=frozenset(("scores", "label")))
    outputs = {"scores": np.zeros((1, 2), np.float16), "label": np.array([label], labels.dtype)}
    given = encode(request, Given(Query(1, "digits", 0.0, 1.0), "small", 0.9, outputs, 1, 0.1, 0.2, 0.05), info, "1")
    answer = read_answer(200, given.content, str(given.json_bytes))
    assert (answer.variant, answer.label, answer.id) == ("small", label, "1")
    assert answer.timing == (0.05, pytest.approx(0.05), 1)


def test_a_label_of_too_few_bytes_makes_no_sense() -> None:
    body = {"outputs": [{"name": "label", "datatype": "INT64", "shape": [1], "parameters": {"binary_data_size": 8}}]}
    text = orjson.dumps(body)
    assert read_answer(200, text + b"1234", str(len(text))).error_kind == "bad_answer"


def test_an_emulated_answer_is_known_by_its_mark() -> None:
    body = {"parameters": {"variant": "small", "emulated": True}, "outputs": [{"name": "label", "data": [0]}]}
    assert read_answer(200, orjson.dumps(body)) == Answer(200, "small", label=0, emulated=True)


def test_an_answer_of_another_server_counts_under_its_model_name() -> None:
    content = orjson.dumps({"model_name": "resnet", "outputs": [{"name": "y", "data": [1]}]})
    assert read_answer(200, content) == Answer(200, variant="resnet")


def test_the_way_is_what_latency_has_beside_wait_and_run() -> None:
    told = {"latency_ms": 9.5, "queue_ms": 4.0, "run_ms": 3.0, "batch_size": 3}
    assert Timing.of(told) == (0.003, pytest.approx(0.0025), 3)
    assert Timing.of(told | {"latency_ms": 6.9}) == (0.003, 0.0, 3), "rounded figures"
    for name in told:
        assert Timing.of({key: value for key, value in told.items() if key != name}) is None


def test_a_refusal_counts_under_its_reason() -> None:
    answer = read_answer(429, b'{"error": "queue full", "reason": "saturated"}')
    assert (answer.error_kind, answer.error) == ("saturated", "queue full")


def test_a_refusal_without_reason_counts_under_its_status() -> None:
    answer = read_answer(502, b"<html>Bad gateway</html>")
    assert answer.error_kind == "http_502"
    assert "Bad gateway" in str(answer.error)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b'{"outputs": [{"name": "label", "data": []}]}'])
def test_an_answer_that_makes_no_sense_is_an_error(content: bytes) -> None:
    assert read_answer(200, content).error_kind == "bad_answer"


@pytest.mark.parametrize("status", [200, 429])
def test_a_number_of_bytes_beyond_all_sizes_makes_no_sense(status: int) -> None:
    kind = "bad_answer" if status == 200 else "http_429"
    assert read_answer(status, b'{"outputs": []}', "9" * 5000).error_kind == kind


def test_an_answer_whose_header_tells_no_number_is_json_throughout() -> None:
    content = orjson.dumps({"outputs": [{"name": "label", "data": [7]}]})
    assert read_answer(200, content, "all").label == 7
    assert read_response(content, "all") == {"outputs": [{"name": "label", "data": [7]}]}


SCORES = TensorSpec("scores", "FP32", (-1, 3))


def scores_answer(data: list[object]) -> bytes:
    return orjson.dumps({"outputs": [{"name": "scores", "datatype": "FP32", "shape": [1, 3], "data": data}]})


@pytest.mark.parametrize(
    ("data", "label"),
    [
        ([0.1, 0.7, 0.2], 1),
        ([0.1, 0.2, 0.7, 0.9, 0.0, 0.1], 2),
        ([[0.9, 0.05, 0.05]], 0),
        ([0.5, 0.5, 0.0], 0),
        ([0.5, None, 0.5], -1),
    ],
)
def test_the_class_is_that_of_the_highest_score_of_the_first_row(data: list[object], label: int) -> None:
    assert read_answer(200, scores_answer(data), class_output=SCORES).label == label
    assert read_answer(200, scores_answer(data)).label is None, "nothing says that these are scores of classes"


@pytest.mark.parametrize("data", [[0.5], [], ["a", "b", "c"], [{}, {}, {}]])
def test_scores_that_are_missing_or_no_numbers_make_no_sense(data: list[object]) -> None:
    assert read_answer(200, scores_answer(data), class_output=SCORES).error_kind == "bad_answer"


def test_a_class_by_number_is_read_under_any_name() -> None:
    content = orjson.dumps({"outputs": [{"name": "said", "datatype": "INT64", "shape": [2], "data": [4, 5]}]})
    assert read_answer(200, content, class_output=TensorSpec("said", "INT64", (-1,))).label == 4
    assert read_answer(200, content, class_output=SCORES).label is None, "it was not asked for"


def test_an_output_named_label_goes_before_scores() -> None:
    outputs = [{"name": "scores", "data": [0.1, 0.7, 0.2]}, {"name": "label", "data": ["cat"]}]
    assert read_answer(200, orjson.dumps({"outputs": outputs}), class_output=SCORES).label == "cat"


@pytest.mark.parametrize("datatype", ["FP16", "BF16", "FP32", "FP64"])
def test_scores_among_bytes_are_read(datatype: str) -> None:
    other, scores = TensorSpec("other", "FP32", (-1, 2)), TensorSpec("scores", datatype, (-1, 3))
    info = EndpointInfo("x", {"": "x"}, (other,), (other, scores), (), 4)
    request = InferRequest("1", {}, 1, None, ("other", "scores"), binary=frozenset(("other", "scores")))
    outputs = {"other": np.ones((1, 2), np.float32), "scores": np.array([[0.25, 0.5, 0.125]], scores.dtype)}
    given = encode(request, Given(Query(1, "x", 0.0, 1.0), "small", 0.9, outputs, 1, 0.1, 0.2, 0.05), info, "1")
    assert read_answer(200, given.content, str(given.json_bytes), scores).label == 1
