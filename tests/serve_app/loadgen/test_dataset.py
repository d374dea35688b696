from pathlib import Path

import numpy as np
import orjson
import pytest

from catalog.errors import ConfigError
from catalog.tensor import TensorSpec
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.loadgen.dataset import Dataset, encode_request, load_dataset
from serve_app.loadgen.model_metadata import ModelMetadata
from serve_app.oip.request import decode


def test_the_held_out_digits_come_as_requests_with_labels() -> None:
    dataset = load_dataset("test")
    assert dataset.labels is not None
    assert len(dataset.bodies) == len(dataset.labels) > 100
    request = orjson.loads(dataset.bodies[0])
    (image,) = request["inputs"]
    assert (image["name"], image["shape"], image["datatype"]) == ("image", [1, 12, 12], "FP32")
    assert len(image["data"]) == 144
    assert all(isinstance(grey, int) and 0 <= grey <= 16 for grey in image["data"])
    assert request["outputs"] == [{"name": "label"}]
    assert "parameters" not in request


def test_strips_come_with_the_numbers_on_them() -> None:
    dataset = load_dataset("strips")
    assert dataset.labels is not None
    assert len(dataset.bodies) == len(dataset.labels) == 1000
    (image,) = orjson.loads(dataset.bodies[0])["inputs"]
    assert (image["name"], image["datatype"], image["shape"][:2]) == ("image", "UINT8", [1, 12])
    assert all(isinstance(label, str) and 4 <= len(label) <= 9 and label.isdigit() for label in dataset.labels)


@pytest.mark.parametrize("name", ["label", "labels"])
def test_arrays_become_one_request_per_item(tmp_path: Path, name: str) -> None:
    path = tmp_path / "set.npz"
    words = np.array(["good", "bad"])
    np.savez(path, x=np.array([[0.5, 1.0], [2.0, 3.0]], np.float32), word=words, **{name: np.array([3, 4])})
    dataset = load_dataset(str(path), slo_ms=80.0)
    assert dataset.labels == (3, 4)
    assert orjson.loads(dataset.bodies[0]) == {
        "inputs": [
            {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [0.5, 1.0]},
            {"name": "word", "shape": [1], "datatype": "BYTES", "data": ["good"]},
        ],
        "parameters": {"slo_ms": 80.0},
    }


def test_floats_keep_their_value_exactly(tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    values = np.random.default_rng(0).normal(size=(3, 50)).astype(np.float32)
    np.savez(path, x=values)
    dataset = load_dataset(str(path))
    sent = np.array([orjson.loads(body)["inputs"][0]["data"] for body in dataset.bodies], np.float32)
    np.testing.assert_array_equal(sent, values)
    assert dataset.labels is None


def test_lines_are_sent_without_their_label(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text('{"inputs":[],"label":"cat","parameters":{"a":1}}\n\n{"id":"7","inputs":[]}\n')
    dataset = load_dataset(str(path), slo_ms=50)
    assert dataset.labels == ("cat", None)
    assert orjson.loads(dataset.bodies[0]) == {"inputs": [], "parameters": {"a": 1, "slo_ms": 50}}
    assert orjson.loads(dataset.bodies[1]) == {"id": "7", "inputs": [], "parameters": {"slo_ms": 50}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1"),
        ("[1]", "must be a JSON object"),
        ('{"inputs": 5}', "a list 'inputs'"),
        ('{"inputs": [], "label": [1]}', r"label \[1\]"),
        ("", "holds no request"),
    ],
)
def test_a_faulty_line_is_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(line)
    with pytest.raises(ConfigError, match=message):
        load_dataset(str(path))


def test_parameters_that_are_no_object_cannot_take_an_objective() -> None:
    with pytest.raises(ConfigError, match="must be a JSON object"):
        encode_request({"inputs": [], "parameters": [1]}, slo_ms=50)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((3, 2)), "labels": np.zeros(2, np.int64)}, "same number of items"),
        ({"labels": np.zeros(2, np.int64)}, "same number of items"),
        ({"x": np.float32(1)}, "same number of items"),
        ({"x": np.array([[np.nan]])}, "NaN or infinity"),
        ({"x": np.zeros((2, 2), np.complex64)}, "dtype complex64"),
        ({"x": np.zeros((2, 2)), "labels": np.full(2, 0.5)}, "labels of dtype float64"),
        ({"x": np.zeros((0, 2))}, "single request"),
    ],
)
def test_faulty_arrays_are_refused(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    path = tmp_path / "set.npz"
    np.savez(path, **arrays)
    with pytest.raises(ConfigError, match=message):
        load_dataset(str(path))


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown data set 'train'"):
        load_dataset("train")
    with pytest.raises(ConfigError, match="cannot read data set"):
        load_dataset(str(tmp_path / "missing.jsonl"))
    junk = tmp_path / "junk.npz"
    junk.write_bytes(b"not an archive")
    with pytest.raises(ConfigError, match=r"numpy\.savez"):
        load_dataset(str(junk))


def test_a_data_set_knows_the_label_of_each_request() -> None:
    assert Dataset((b"{}", b"{}"), (1, None)).label(0) == 1
    assert Dataset((b"{}",)).label(0) is None


def test_tensors_as_bytes_are_what_the_server_reads(tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    values = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float16)
    np.savez(path, x=values, word=np.array(["a", "grüße", ""]), label=np.array([1, 2, 3]))
    dataset = load_dataset(str(path), 50.0, binary=True)
    assert dataset.labels == (1, 2, 3)
    assert dataset.json_bytes is not None
    x, word = TensorSpec("x", "FP16", (-1, 2)), TensorSpec("word", "BYTES", (-1,))
    info = EndpointInfo("two", {"": "two"}, (x, word), (word,), (), 4)
    for index, (body, json_bytes) in enumerate(zip(dataset.bodies, dataset.json_bytes, strict=True)):
        assert dataset.headers(index) == {
            "Inference-Header-Content-Length": str(json_bytes),
            "Content-Type": "application/octet-stream",
        }
        request = decode(body, info, json_bytes)
        np.testing.assert_array_equal(request.inputs["x"], values[index : index + 1])
        assert request.inputs["word"].tolist() == [["a", "grüße", ""][index]]
        assert (request.slo_s, request.binary) == (pytest.approx(0.05), {"word"})


def test_requests_in_json_are_not_sent_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text('{"inputs":[]}\n')
    with pytest.raises(ConfigError, match=r"has requests in JSON, which are sent as they are; .* give a \.npz file"):
        load_dataset(str(path), binary=True)


X = TensorSpec("x", "FP32", (-1, 2))
SCORES = TensorSpec("scores", "FP32", (-1, 10))


@pytest.mark.parametrize("binary", [False, True])
def test_arrays_are_sent_in_the_datatype_that_the_endpoint_takes(tmp_path: Path, binary: bool) -> None:
    path = tmp_path / "set.npz"
    np.savez(path, x=np.array([[0.5, 1.0], [2.0, 3.0]]), label=np.array([0.0, 1.0]))
    dataset = load_dataset(str(path), binary=binary, endpoint=ModelMetadata((X,)))
    assert dataset.labels == (0, 1)
    info = EndpointInfo("two", {"": "two"}, (X,), (SCORES,), (), 4)
    request = decode(dataset.bodies[0], info, None if dataset.json_bytes is None else dataset.json_bytes[0])
    assert request.inputs["x"].tolist() == [[0.5, 1.0]]


def test_tensors_that_numpy_has_no_type_for_go_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    np.savez(path, x=np.array([[0.5, 1.0]]))
    endpoint = ModelMetadata((TensorSpec("x", "BF16", (-1, 2)),))
    (body,) = load_dataset(str(path), binary=True, endpoint=endpoint).bodies
    assert b'"datatype":"BF16","parameters":{"binary_data_size":4}' in body
    assert body.endswith(b"\x00\x3f\x80\x3f")
    with pytest.raises(ConfigError, match="array 'x' is BF16, which JSON cannot hold"):
        load_dataset(str(path), endpoint=endpoint)


def test_nan_is_left_to_the_endpoint_where_bytes_can_hold_it(tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    np.savez(path, x=np.array([[0.5, np.nan]]))
    assert load_dataset(str(path), binary=True, endpoint=ModelMetadata((X,))).bodies
    with pytest.raises(ConfigError, match="NaN or infinity, which JSON cannot carry"):
        load_dataset(str(path), endpoint=ModelMetadata((X,)))


@pytest.mark.parametrize(
    ("outputs", "asked"),
    [
        ((), [{"name": "label"}]),
        ((SCORES,), [{"name": "scores"}]),
        ((SCORES, TensorSpec("label", "BYTES", (-1,))), [{"name": "label"}]),
        ((TensorSpec("y", "FP32", (-1,)),), None),
    ],
)
def test_built_in_data_ask_for_the_output_with_the_class(
    outputs: tuple[TensorSpec, ...], asked: list[dict[str, str]] | None
) -> None:
    dataset = load_dataset("test", endpoint=ModelMetadata(outputs=outputs))
    assert orjson.loads(dataset.bodies[0]).get("outputs") == asked


def test_values_beside_outputs_that_are_no_classes_are_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    np.savez(path, x=np.zeros((2, 2)), label=np.array([0.5, 1.5]))
    endpoint = ModelMetadata((X,), (TensorSpec("y", "FP32", (-1,)),))
    assert load_dataset(str(path), endpoint=endpoint).labels == (None, None)
    with pytest.raises(ConfigError, match="labels of dtype float64"):
        load_dataset(str(path), endpoint=ModelMetadata((X,), (SCORES,)))
