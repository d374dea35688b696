"""A session of its own for each size of batch, for graphs with convolutions on a GPU.

cuDNN plans a convolution for one shape of its input, and ONNX Runtime keeps that plan until the shape changes. On an
NVIDIA H200 a batch of another size than the one before took 56 ms instead of 0.2 ms (six convolutions) and 400 instead
of 1.2 ms (an ensemble of such graphs), and still 8 ms for the former with the quick heuristic search, whether or not
that size had been run before.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

CUBLAS_WORKSPACE = {"CUBLAS_WORKSPACE_CONFIG": ":16:8"}
"""Environment of cuBLAS: 128 KiB to work in for each session instead of tens of MiB, of which seven graphs with seven
sizes each had 6 GB together. Convolutions are cuDNN's; what the environment sets already stays."""

_CONVOLUTIONS = ("Conv", "ConvTranspose")
_OP_TYPE = 0x22
"""Of a node of a graph: field 4 of ONNX's NodeProto, a string, as protobuf writes it."""

_BLOCK_BYTES = 1 << 24


def has_convolutions(file: Path) -> bool:
    """Whether a node of the ONNX file is a convolution; large files are read block by block."""
    marks = [bytes([_OP_TYPE, len(name)]) + name.encode() for name in _CONVOLUTIONS]
    kept = b""
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK_BYTES):
            window = kept + block
            if any(mark in window for mark in marks):
                return True
            kept = window[-max(map(len, marks)) :]
    return False


def sizes_up_to(max_batch: int) -> tuple[int, ...]:
    """Powers of two, and the largest that the variant takes."""
    return (*(1 << power for power in range((max_batch - 1).bit_length())), max_batch)


class SizedSessions:
    """As an ``InferenceSession``, for batches of up to ``sizes[-1]`` rows; ``sizes`` ascend.

    Each session has weights of its own. A batch is filled up to the next of the sizes with its first row again, and
    what that gives is cut off.
    """

    def __init__(self, open_session: Callable[[], Any], sizes: Sequence[int]) -> None:
        for name, value in CUBLAS_WORKSPACE.items():
            os.environ.setdefault(name, value)  # read whenever a session starts; it stays for those that come after
        self.sizes = tuple(sizes)
        self._sessions = [open_session() for _ in self.sizes]

    def run(self, names: Sequence[str], inputs: Arrays) -> list[NDArray[Any]]:
        """See ``InferenceSession.run``; raises ValueError for more rows than there may be."""
        rows = len(next(iter(inputs.values())))
        index = bisect_left(self.sizes, rows)
        if index == len(self.sizes):
            raise ValueError(f"a batch has {rows} rows; at most {self.sizes[-1]} can be run")
        size = self.sizes[index]
        padded = inputs if rows == size else {name: _padded(array, size) for name, array in inputs.items()}
        outputs = self._sessions[index].run(list(names), padded)
        return outputs if rows == size else [output[:rows] for output in outputs]

    def get_inputs(self) -> Any:
        """See ``InferenceSession.get_inputs``."""
        return self._sessions[0].get_inputs()

    def get_outputs(self) -> Any:
        """See ``InferenceSession.get_outputs``."""
        return self._sessions[0].get_outputs()


def _padded(array: NDArray[Any], size: int) -> NDArray[Any]:
    return np.concatenate([array, np.repeat(array[:1], size - len(array), axis=0)])
