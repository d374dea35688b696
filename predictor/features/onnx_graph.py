"""Architectural features of a variant, read from its ONNX graph without running it.

Section 3.2 of the paper gives the predictor a list of all layers, each with its kind and its number of weights, and
suspects that the length of such a list is what makes it worse than hardware metrics. Here a graph of any size has the
same few sums over its nodes.
"""

from collections import Counter
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from catalog.errors import ArtifactError
from catalog.extras import require
from predictor.features.operator_flops import flops_of
from predictor.features.operator_kinds import KIND_OF, KINDS

DEFAULT_LENGTH = 24
"""Taken for dimensions other than the batch that a graph leaves open: the tokens of a text of about twenty words, which
is what variants of text are measured on."""

Shape = tuple[int, ...]


def artifact_architecture(artifact: Path, rows: int = 1) -> dict[str, float]:
    """`architecture_of` the ONNX file that ``artifact`` is, or holds at its top; ``arch_artifact_bytes`` in any case.

    Raises `ArtifactError` where there is nothing, or an ONNX file that cannot be read.
    """
    files = [artifact] if artifact.is_file() else sorted(file for file in artifact.rglob("*") if file.is_file())
    if not files:
        raise ArtifactError(f"no model file at {artifact}; fetch it first")
    graphs = [file for file in files if file.suffix == ".onnx" and file.parent in (artifact, artifact.parent)]
    known = architecture_of(graphs[0], rows) if len(graphs) == 1 else {}
    return known | {"arch_artifact_bytes": float(sum(file.stat().st_size for file in files))}


def architecture_of(model: Any, rows: int = 1) -> dict[str, float]:
    """Features of an ONNX model, given as an `onnx.ModelProto` or the path of a file, for batches of ``rows`` rows.

    - ``arch_KIND_nodes`` for each of `KINDS`, ``arch_nodes``, and ``arch_depth``, the nodes on the longest path;
    - ``arch_parameters`` and ``arch_parameter_bytes``: elements of all constants, and their size;
    - ``arch_flops_per_row``: see `operator_flops.flops_of`;
    - ``arch_activation_bytes_per_row``: what all nodes write, and ``arch_largest_activation_bytes_per_row``;
    - ``arch_flops_per_byte``: the arithmetic intensity of one batch, if it reads all constants once, and writes and
      reads each activation once.

    Sizes come from ONNX's shape inference; what it cannot tell counts as nothing. The first dimension of an input is
    the batch; others that are open have `DEFAULT_LENGTH`. Bodies of If, Loop and Scan are not entered. Raises
    `ArtifactError` where the file cannot be read.
    """
    require("interference", "reading the architecture of a model")
    graph = _with_shapes(_loaded(model), rows).graph
    shapes = _shapes(graph)
    constants = _constants(graph)
    kinds = Counter(KIND_OF.get(node.op_type, "other") for node in graph.node)
    flops = sum(flops_of(node, shapes) for node in graph.node)
    written = _written_bytes(graph, shapes)
    parameter_bytes = sum(count * size for count, size in constants.values())
    moved_bytes = parameter_bytes + 2 * sum(written)
    found: dict[str, float] = {f"arch_{kind}_nodes": kinds[kind] for kind in KINDS}
    found["arch_nodes"] = len(graph.node)
    found["arch_depth"] = _depth(graph)
    found["arch_parameters"] = sum(count for count, _ in constants.values())
    found["arch_parameter_bytes"] = parameter_bytes
    found["arch_flops_per_row"] = flops / rows
    found["arch_activation_bytes_per_row"] = sum(written) / rows
    found["arch_largest_activation_bytes_per_row"] = max(written, default=0) / rows
    found["arch_flops_per_byte"] = flops / moved_bytes if moved_bytes else 0.0
    return {name: float(value) for name, value in found.items()}


def _loaded(model: Any) -> Any:
    """A copy that may be changed."""
    import onnx

    if isinstance(model, onnx.ModelProto):
        copied = onnx.ModelProto()
        copied.CopyFrom(model)
        return copied
    try:
        return onnx.load(str(model), load_external_data=False)
    except Exception as error:  # protobuf's errors, which onnx does not wrap
        raise ArtifactError(f"cannot read ONNX file {model}: {error}; fetch it again") from error


def _with_shapes(model: Any, rows: int) -> Any:
    from onnx import shape_inference

    constants = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in constants:
            continue
        for position, dimension in enumerate(value.type.tensor_type.shape.dim):
            if position == 0:
                dimension.dim_value = rows
            elif dimension.dim_value < 1:
                dimension.dim_value = DEFAULT_LENGTH
    return shape_inference.infer_shapes(model, data_prop=True)


def _shapes(graph: Any) -> dict[str, Shape]:
    """By tensor; those that are not wholly known are absent."""
    found = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        dims = tuple(dimension.dim_value for dimension in tensor.shape.dim)
        if tensor.HasField("shape") and all(each.HasField("dim_value") for each in tensor.shape.dim):
            found[value.name] = dims
    found.update({tensor.name: tuple(tensor.dims) for tensor in graph.initializer})
    return found


def _constants(graph: Any) -> dict[str, tuple[int, int]]:
    """Elements, and bytes of each, of every constant tensor; those that nodes make count as others do."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            tensors.update((node.output[0], each.t) for each in node.attribute if each.name == "value")
    return {name: (prod(tensor.dims), _element_bytes(tensor.data_type)) for name, tensor in tensors.items()}


def _element_bytes(data_type: int) -> int:
    """Strings count as nothing, types of less than a byte as one."""
    from onnx import TensorProto, helper

    if data_type in (TensorProto.UNDEFINED, TensorProto.STRING):
        return 0
    return int(helper.tensor_dtype_to_np_dtype(data_type).itemsize)


def _written_bytes(graph: Any, shapes: Mapping[str, Shape]) -> list[int]:
    """Of each tensor that a node writes."""
    types = {value.name: value.type.tensor_type.elem_type for value in (*graph.value_info, *graph.output)}
    names = [name for node in graph.node if node.op_type != "Constant" for name in node.output]
    return [prod(shapes[name]) * _element_bytes(types[name]) for name in names if name in shapes and name in types]


def _depth(graph: Any) -> int:
    """Nodes on the longest path; ONNX lists nodes after those that they need."""
    depth: dict[str, int] = {}
    deepest = 0
    for node in graph.node:
        own = 1 + max((depth.get(name, 0) for name in node.input), default=0)
        depth.update(dict.fromkeys(node.output, own))
        deepest = max(deepest, own)
    return deepest
