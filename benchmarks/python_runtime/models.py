"""What a user would write around an ONNX file."""

from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray


class Wrapped:
    """An ONNX model whose outputs are named as the file names them."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._session: Any = None
        self._names: list[str] = []

    def setup(self, device: str, threads: int) -> None:
        """Open the file."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(self._file, options, providers=["CPUExecutionProvider"])
        self._names = [output.name for output in self._session.get_outputs()]

    def predict(self, inputs: dict[str, NDArray[Any]]) -> dict[str, NDArray[np.generic]]:
        """Run a batch."""
        return dict(zip(self._names, self._session.run(self._names, inputs), strict=True))
