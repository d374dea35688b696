import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from serve_app.cli.main import app

ROOT = Path(__file__).parents[3]


def accord(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["load", *arguments])


@pytest.fixture
def requests_file(tmp_path: Path) -> str:
    path = tmp_path / "requests.jsonl"
    path.write_text('{"inputs":[],"label":7}\n{"inputs":[],"label":8}\n')
    return str(path)


def test_json_is_one_object_and_the_objective_comes_from_the_endpoint(server: Any, requests_file: str) -> None:
    arguments = ("--dataset", requests_file, "--rate", "40", "--duration", "0.5", "--arrivals", "uniform")
    result = accord("--url", server.url, *arguments, "--json")
    assert result.exit_code == 0
    body = json.loads(result.stdout)
    assert (body["sent"], body["answered"], body["slo_ms"]) == (20, 20, 120.0)
    assert body["accuracy_pct"] == 50.0
    assert body["share"] == {"digits-cnn-s": 1.0}
    assert server.received == 20
    assert "parameters" not in server.last


def test_emulated_answers_are_counted_and_their_labels_not_compared(server: Any, requests_file: str) -> None:
    server.parameters["emulated"] = True
    arguments = ("--dataset", requests_file, "--rate", "40", "--duration", "0.5", "--arrivals", "uniform")
    body = json.loads(accord("--url", server.url, *arguments, "--json").stdout)
    assert (body["answered"], body["emulated"], body["accuracy_pct"]) == (20, 20, None)
    assert "no model ran" in accord("--url", server.url, *arguments).stdout


def test_an_objective_that_is_given_goes_into_every_query(server: Any, requests_file: str) -> None:
    arguments = ("--dataset", requests_file, "--duration", "0.3", "--slo-ms", "75", "--json")
    result = accord("--url", server.url, *arguments)
    assert json.loads(result.stdout)["slo_ms"] == 75.0
    assert server.last["parameters"] == {"slo_ms": 75.0}


def test_tensors_go_as_bytes_where_that_is_asked_for(server: Any, tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    np.savez(path, x=np.full((2, 3), 0.5, np.float16), label=np.array([7, 7]))
    arguments = ("--dataset", str(path), "--rate", "40", "--duration", "0.5", "--json")
    body = json.loads(accord("--url", server.url, *arguments, "--binary").stdout)
    assert body["answered"] == body["sent"] > 0
    assert body["accuracy_pct"] == 100.0
    (x,) = server.last["inputs"]
    assert (x["datatype"], x["shape"], x["parameters"]) == ("FP16", [1, 3], {"binary_data_size": 6})
    assert server.last["parameters"] == {"binary_data_output": True}
    assert np.frombuffer(server.tail, "<f2").tolist() == [0.5] * 3
    refused = accord("--url", server.url, *arguments)
    assert refused.exit_code != 0
    assert "array 'x' is FP16, which JSON cannot hold; send it with `accord load --binary`" in refused.output


def test_a_person_gets_tables_for_the_held_out_digits(server: Any) -> None:
    result = accord("--url", server.url, "--rate", "30:0.3,90:0.3", "--seed", "1")
    assert result.exit_code == 0
    assert "0.6 s" in result.stdout
    assert "Over time" in result.stdout
    assert "digits-cnn-s" in result.stdout


def test_a_trace_alone_chooses_trace_arrivals_at_their_own_rate(
    server: Any, requests_file: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_ms\n0\n50\n60\n5000\n")
    arguments = ("--dataset", requests_file, "--trace", str(trace), "--duration", "0.2", "--json")
    assert json.loads(accord("--url", server.url, *arguments).stdout)["sent"] == 3


def test_a_server_that_is_not_running_fails_before_any_load(closed_url: str, requests_file: str) -> None:
    result = accord("--url", closed_url, "--dataset", requests_file, "--json")
    assert result.exit_code == 1
    assert "make run" in json.loads(result.stdout)["error"]


def test_an_unknown_endpoint_is_refused_in_the_words_of_the_server(server: Any, requests_file: str) -> None:
    result = accord("--url", server.url, "--endpoint", "x", "--dataset", requests_file)
    assert result.exit_code == 1
    assert "this server has digits" in result.stderr


def test_a_run_without_a_single_answer_fails_with_a_report(server: Any, requests_file: str) -> None:
    server.refusal = (503, {"error": "no live worker", "reason": "no_worker"})
    arguments = ("--dataset", requests_file, "--duration", "0.2", "--arrivals", "uniform", "--json")
    result = accord("--url", server.url, *arguments)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["errors"] == {"no_worker": {"count": 10, "example": "no live worker"}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--arrivals", "pareto"), "use one of poisson, gamma, uniform, trace"),
        (("--rate", "fast"), "rate step 'fast'"),
        (("--arrivals", "trace"), "name one with --trace"),
        (("--dataset", "train"), "unknown data set"),
        (("--rate", "0.001", "--duration", "0.1"), "raise --rate or --duration"),
        (("--duration", "0"), "duration"),
        (("--duration", "1e7"), "5e+08 queries in 1e+07 s, and one run has at most 100000000"),
        (("--rate", "1e300"), "lower the rate or the duration"),
        (("--arrivals", "uniform", "--rate", "50:1e300"), "lower the rate or the duration"),
        (("--arrivals", "gamma", "--shape", "inf"), "gamma shape inf; give a value from 0.001 to 1e+06"),
    ],
)
def test_what_was_typed_wrong_exits_with_two(server: Any, arguments: tuple[str, ...], message: str) -> None:
    result = accord("--url", server.url, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr, result.stderr
    assert server.received == 0


def test_an_interrupt_gives_the_report_so_far(server: Any, requests_file: str) -> None:
    command = (sys.executable, "-m", "serve_app.cli.main", "load", "--url", server.url, "--dataset", requests_file)
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, "--duration", "60", "--json"], cwd=ROOT, stdout=pipe, stderr=pipe) as process:
        give_up_s = time.monotonic() + 20
        while server.received < 10 and time.monotonic() < give_up_s:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    body = json.loads(output)
    assert body["interrupted"]
    assert 10 <= body["sent"] < 3000


def test_a_trace_is_played_to_its_end(server: Any, requests_file: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_ms\n" + "".join(f"{50 * number}\n" for number in range(10)))
    arguments = ("--url", server.url, "--dataset", requests_file, "--trace", str(trace), "--json")
    body = json.loads(accord(*arguments).stdout)
    assert body["sent"] == 10
    assert body["duration_s"] == pytest.approx(0.45)
    assert body["offered_qps"] == pytest.approx(10 / 0.45)
    assert json.loads(accord(*arguments, "--duration", "0.2").stdout)["sent"] == 4


def test_labels_by_name_count_as_the_classes_of_the_endpoint(server: Any, tmp_path: Path) -> None:
    path = tmp_path / "named.jsonl"
    path.write_text('{"inputs":[],"label":"seven"}\n{"inputs":[],"label":"eight"}\n')
    server.metadata["labels"] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    arguments = ("--dataset", str(path), "--rate", "40", "--duration", "0.5", "--arrivals", "uniform", "--json")
    assert json.loads(accord("--url", server.url, *arguments).stdout)["accuracy_pct"] == 50.0


X = {"name": "x", "datatype": "FP32", "shape": [-1, 3]}
SCORES = {"name": "scores", "datatype": "FP32", "shape": [-1, 2]}
SHORT = ("--rate", "40", "--duration", "0.5", "--arrivals", "uniform", "--json")


@pytest.fixture
def labelled(tmp_path: Path) -> str:
    """Inputs FP64 as numpy makes them, half of them of class 1, and arrays that are no inputs."""
    path = tmp_path / "labelled.npz"
    arrays = {"x": np.full((2, 3), 0.5), "id": np.arange(5), "labels": np.array([7, 7])}
    np.savez(path, **arrays, label=np.array([1, 0]))
    return str(path)


@pytest.mark.parametrize("arguments", [(), ("--binary",)])
def test_the_highest_score_is_the_class_where_no_output_is_named_label(
    server: Any, labelled: str, arguments: tuple[str, ...]
) -> None:
    server.inputs, server.outputs, server.in_bytes = [X], [SCORES], bool(arguments)
    server.tensors = [{"name": "scores", "datatype": "FP32", "shape": [1, 2], "data": [0.25, 0.75]}]
    result = accord("--url", server.url, "--dataset", labelled, *SHORT, *arguments)
    assert result.exit_code == 0, result.stderr
    body = json.loads(result.stdout)
    assert (body["answered"], body["accuracy_pct"]) == (20, 50.0)
    assert "not compared" not in result.stderr
    (sent,) = server.last["inputs"]
    assert (sent["name"], sent["datatype"], sent["shape"]) == ("x", "FP32", [1, 3])


def test_classes_by_name_are_those_of_the_endpoint_for_scores_too(server: Any, tmp_path: Path) -> None:
    path = tmp_path / "named.npz"
    np.savez(path, anything=np.zeros((2, 3)), label=np.array(["good", "bad"]))
    server.inputs, server.outputs, server.metadata["labels"] = [X], [SCORES], ["bad", "good"]
    server.tensors = [{"name": "scores", "datatype": "FP32", "shape": [1, 2], "data": [0.25, 0.75]}]
    arguments = ("--url", server.url, "--dataset", str(path), *SHORT)
    assert json.loads(accord(*arguments).stdout)["accuracy_pct"] == 50.0
    assert server.last["inputs"][0]["name"] == "x", "the only array is for the only input"
    server.metadata["labels"] = []
    result = accord(*arguments)
    assert json.loads(result.stdout)["accuracy_pct"] is None
    assert "not compared with labels: the endpoint has no class 'good'; it names none" in result.stderr


def test_it_is_said_once_where_no_output_tells_the_class(server: Any, labelled: str) -> None:
    server.inputs, server.outputs = [X], [{"name": "y", "datatype": "FP32", "shape": [-1]}]
    server.tensors = [{"name": "y", "datatype": "FP32", "shape": [1], "data": [0.5]}]
    result = accord("--url", server.url, "--dataset", labelled, *SHORT)
    body = json.loads(result.stdout)
    assert (body["answered"], body["accuracy_pct"]) == (20, None)
    assert result.stderr.count("answers are not compared with labels: no output of classes or scores") == 1
    assert "the endpoint has y FP32 [-1]" in result.stderr


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.array([["a", "b", "c"]])}, "column 'x': not one FP32 [-1, 3] per row (<U1 does not fit FP32)"),
        ({"x": np.full((1, 3), 1e300)}, "1e+300 does not fit FP32"),
        ({"x": np.zeros((1, 4))}, "column 'x' is [1, 4]; input 'x' is [-1, 3]"),
        ({"a": np.zeros((1, 3)), "b": np.zeros((1, 3))}, "has no array 'x'; the endpoint takes it as FP32 [-1, 3]"),
    ],
)
def test_arrays_that_the_endpoint_cannot_take_are_not_sent(
    server: Any, tmp_path: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    path = tmp_path / "wrong.npz"
    np.savez(path, **arrays, label=np.array([1]))
    server.inputs = [X]
    result = accord("--url", server.url, "--dataset", str(path), *SHORT)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert server.received == 0
