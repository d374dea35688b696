"""The catalogue of the benchmark of classes of one's own."""

from pathlib import Path

from benchmarks.python_runtime.scene import KINDS, written_catalogue


def test_one_model_is_there_both_ways(tmp_path: Path) -> None:
    catalogue = written_catalogue(tmp_path, "digits-mlp")
    onnx, python = (catalogue.variant(kind) for kind in KINDS)
    assert (onnx.runtime, python.runtime) == ("onnx", "python")
    assert (onnx.inputs, onnx.outputs, onnx.accuracy) == (python.inputs, python.outputs, python.accuracy)
    assert Path(onnx.artifact.uri).is_file()
    assert (tmp_path / "models.py").is_file()
