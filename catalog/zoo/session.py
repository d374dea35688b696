"""Runs a model of the zoo where it is measured."""

from pathlib import Path

import onnxruntime


def session(path: Path) -> onnxruntime.InferenceSession:
    """A model on one thread of the CPU."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
