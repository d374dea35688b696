"""A model file whose outputs are permuted: it loads, runs and answers, and is wrong."""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper


def write_permuted(source: Path, target: Path, classes: int) -> None:
    """Write a classifier whose ``label`` and ``probabilities`` are those of ``source`` with each class taken for the
    next one."""
    model = onnx.load(str(source))
    graph = model.graph
    following = np.roll(np.arange(classes, dtype=np.int64), -1)
    graph.initializer.append(numpy_helper.from_array(following, "accord_following"))
    graph.initializer.append(numpy_helper.from_array(np.roll(np.arange(classes, dtype=np.int64), 1), "accord_before"))
    for name in ("label", "probabilities"):
        for node in graph.node:
            for field in (node.output, node.input):
                for index, value in enumerate(field):
                    if value == name:
                        field[index] = f"{name}_before"
    graph.node.append(helper.make_node("Gather", ["accord_following", "label_before"], ["label"]))
    graph.node.append(helper.make_node("Gather", ["probabilities_before", "accord_before"], ["probabilities"], axis=1))
    onnx.checker.check_model(model)
    onnx.save(model, str(target))
