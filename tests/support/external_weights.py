"""An ONNX model whose weights lie in a file beside it."""

from pathlib import Path

from onnx import TensorProto, helper


def model_with_weights_at(folder: Path, location: str) -> Path:
    """An ONNX file that adds what lies at ``location`` to its input."""
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        weights.external_data.add(key=key, value=value)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", values[:1], values[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path
