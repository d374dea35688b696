import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from serve_app.cli.main import app

REQUEST = {"id": "a", "inputs": [{"name": "image", "shape": [1, 1], "datatype": "FP32", "data": [1]}], "label": 7}


def accord(*arguments: str, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, ["query", *arguments], input=stdin)


@pytest.fixture
def request_file(tmp_path: Path) -> str:
    path = tmp_path / "body.json"
    path.write_text(json.dumps(REQUEST))
    return str(path)


def test_a_held_out_digit_is_answered_and_compared_with_its_label(server: Any) -> None:
    result = accord("--url", server.url, "--index", "3", "--slo-ms", "80")
    assert result.exit_code == 0
    assert "label" in result.stdout
    assert "7 (correct)" in result.stdout or "7 (truly" in result.stdout
    assert "digits-cnn-s" in result.stdout
    assert "91.0% expected" in result.stdout
    assert "4.2 ms of it in the server" in result.stdout
    assert "met" in result.stdout
    assert server.last["parameters"] == {"slo_ms": 80.0}
    assert len(server.last["inputs"][0]["data"]) == 144


def test_an_emulated_answer_is_marked_and_not_compared(server: Any, request_file: str) -> None:
    server.parameters["emulated"] = True
    body = json.loads(accord("--url", server.url, "--file", request_file, "--json").stdout)
    assert (body["emulated"], body["label"], body["true_label"], body["correct"]) == (True, 7, 7, None)
    shown = accord("--url", server.url, "--file", request_file).stdout
    assert "no model ran" in shown
    assert "(correct)" not in shown


def test_json_is_one_object_with_the_whole_response(server: Any, request_file: str) -> None:
    result = accord("--url", server.url, "--file", request_file, "--json")
    assert result.exit_code == 0
    body = json.loads(result.stdout)
    assert (body["label"], body["true_label"], body["correct"]) == (7, 7, True)
    assert body["emulated"] is False
    assert body["response"]["outputs"][1]["name"] == "probabilities"
    assert body["round_trip_ms"] > 0
    assert "label" not in server.last
    assert server.last["id"] == "a"


def test_a_request_whose_parameters_are_null_gets_the_objective(server: Any) -> None:
    request = json.dumps(REQUEST | {"parameters": None})
    result = accord("--url", server.url, "--file", "-", "--slo-ms", "80", stdin=request)
    assert result.exit_code == 0, result.stderr
    assert server.last["parameters"] == {"slo_ms": 80.0}


def test_a_request_may_come_from_standard_input(server: Any) -> None:
    result = accord("--url", server.url, "--file", "-", stdin=json.dumps(REQUEST))
    assert result.exit_code == 0
    assert "7 (correct)" in result.stdout
    assert "probabilities" in result.stdout


def test_a_server_that_is_not_running_is_named_with_how_to_start_it(closed_url: str, request_file: str) -> None:
    result = accord("--url", closed_url, "--file", request_file)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert f"nothing listens at {closed_url}" in result.stderr
    assert "make run" in result.stderr
    assert "serve run configs/quickstart.yaml" in result.stderr


def test_a_refusal_is_shown_in_the_words_of_the_server(server: Any, request_file: str) -> None:
    server.refusal = (429, {"error": "the queue of 'digits' is full; try again later", "reason": "saturated"})
    result = accord("--url", server.url, "--file", request_file, "--json")
    assert result.exit_code == 1
    assert "429 (saturated): the queue of 'digits' is full" in json.loads(result.stdout)["error"]
    assert "the queue of 'digits' is full" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--index", "1", "--file", "x"), "give one of them"),
        (("--dataset", "none.npz", "--file", "x"), "--dataset none.npz and --file x both say what to send"),
        (("--dataset", "train"), "unknown data set"),
        (("--file", "/nowhere/body.json"), "cannot read request"),
        (("--url", "localhost"), "write it as http://"),
    ],
)
def test_what_was_typed_wrong_exits_with_two(arguments: tuple[str, ...], message: str) -> None:
    result = accord(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_file_that_is_no_request_exits_with_two(tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text("{")
    assert accord("--file", str(path)).exit_code == 2


def test_an_item_that_the_data_set_does_not_have_exits_with_two(server: Any) -> None:
    result = accord("--url", server.url, "--index", "99999999")
    assert result.exit_code == 2
    assert "data set 'test' has items 0 to" in result.stderr


def test_without_a_data_set_the_one_for_the_task_of_the_endpoint_is_sent(server: Any) -> None:
    server.metadata = {"task": "sentiment"}
    assert accord("--url", server.url).exit_code == 0
    assert server.last["inputs"][0]["name"] == "text"


@pytest.mark.parametrize(
    ("task", "arguments", "message"),
    [
        ("mine", (), "no built-in data set; endpoint 'digits' does task 'mine': give --dataset"),
        ("sentiment", ("--dataset", "strips"), "'strips' is for another task; endpoint 'digits' does task 'sentiment'"),
    ],
)
def test_data_of_another_task_is_not_sent(server: Any, task: str, arguments: tuple[str, ...], message: str) -> None:
    server.metadata = {"task": task}
    result = accord("--url", server.url, *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert server.received == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no built-in data set; endpoint 'digits' does task 'digits': give --dataset"),
        (("--dataset", "test"), "data set 'test' is for inputs of another name, datatype or shape"),
    ],
)
def test_data_of_another_shape_is_not_sent(server: Any, arguments: tuple[str, ...], message: str) -> None:
    server.inputs = [{"name": "image", "datatype": "FP32", "shape": [-1, 28, 28]}]
    result = accord("--url", server.url, *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert server.received == 0


def test_a_query_in_bytes_is_answered_in_bytes_and_shown_in_numbers(server: Any) -> None:
    server.in_bytes = True
    result = accord("--url", server.url, "--binary", "--json")
    assert result.exit_code == 0, result.stderr
    assert server.last["inputs"][0]["parameters"]["binary_data_size"] == len(server.tail)
    response = json.loads(result.stdout)["response"]
    assert [output["data"] for output in response["outputs"]] == [[7], [0.0] * 12]
    assert "probabilities" in accord("--url", server.url, "--binary").stdout


def test_a_file_is_sent_as_it_is(server: Any, request_file: str) -> None:
    result = accord("--url", server.url, "--file", request_file, "--binary")
    assert result.exit_code == 2
    assert "--binary with --file" in result.stderr


SCORES = {"name": "scores", "datatype": "FP32", "shape": [-1, 2]}


@pytest.mark.parametrize("arguments", [(), ("--binary",)])
def test_the_highest_score_is_compared_with_the_label(server: Any, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "labelled.npz"
    np.savez(path, x=np.full((2, 3), 0.5), label=np.array([1, 0]), labels=np.array([7, 7]))
    server.inputs = [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
    server.outputs, server.in_bytes = [SCORES], bool(arguments)
    server.tensors = [{"name": "scores", "datatype": "FP32", "shape": [1, 2], "data": [0.25, 0.75]}]
    given = ("--url", server.url, "--dataset", str(path), *arguments)
    told = [json.loads(accord(*given, "--index", index, "--json").stdout) for index in ("0", "1")]
    assert [(each["label"], each["true_label"], each["correct"]) for each in told] == [(1, 1, True), (1, 0, False)]
    assert [(each["name"], each["datatype"]) for each in server.last["inputs"]] == [("x", "FP32")]
    shown = accord(*given).stdout
    assert "1 (correct)" in shown
    assert "0.25, 0.75" in shown


def test_it_is_said_where_no_output_tells_the_class(server: Any, request_file: str) -> None:
    server.outputs = [{"name": "y", "datatype": "FP32", "shape": [-1]}]
    server.tensors = [{"name": "y", "datatype": "FP32", "shape": [1], "data": [0.5]}]
    result = accord("--url", server.url, "--file", request_file, "--json")
    body = json.loads(result.stdout)
    assert (body["label"], body["true_label"], body["correct"]) == (None, 7, None)
    assert "answers are not compared with labels" in result.stderr


def test_strings_for_numbers_are_not_sent(server: Any, tmp_path: Path) -> None:
    path = tmp_path / "words.npz"
    np.savez(path, x=np.array([["a", "b"]]))
    server.inputs = [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]
    result = accord("--url", server.url, "--dataset", str(path))
    assert result.exit_code == 2
    assert "<U1 does not fit FP32" in result.stderr
    assert server.received == 0
