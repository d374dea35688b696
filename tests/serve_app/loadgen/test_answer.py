import orjson
import pytest

from serve_app.loadgen.answer import Answer, read_answer


def test_a_full_answer_is_read() -> None:
    content = orjson.dumps(
        {
            "model_name": "digits",
            "parameters": {"variant": "small", "expected_accuracy": 0.9, "deadline_met": True},
            "outputs": [{"name": "probabilities", "data": [0.1]}, {"name": "label", "data": [7]}],
        }
    )
    assert read_answer(200, content) == Answer(200, "small", 0.9, True, 7)


def test_an_emulated_answer_is_known_by_its_mark() -> None:
    body = {"parameters": {"variant": "small", "emulated": True}, "outputs": [{"name": "label", "data": [0]}]}
    assert read_answer(200, orjson.dumps(body)) == Answer(200, "small", label=0, emulated=True)


def test_an_answer_of_another_server_counts_under_its_model_name() -> None:
    content = orjson.dumps({"model_name": "resnet", "outputs": [{"name": "y", "data": [1]}]})
    assert read_answer(200, content) == Answer(200, variant="resnet")


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
