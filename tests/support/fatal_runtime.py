"""A runtime of tests for models that some inputs kill, and others hang; processes of Ray's workers install it."""

import os
import signal
import threading

from deployments.runtimes import registry
from deployments.runtimes.base import Tensors
from deployments.runtimes.onnx.onnx_runtime import OnnxRuntime

NAME = "fatal"
KILLS, HANGS = 666.0, 404.0
"""Values that a worker does not survive, and that it never comes back from."""


class FatalRuntime(OnnxRuntime):
    """An ONNX model with a fault: no exception, but a process that ends, as by a bug in native code."""

    def run(self, inputs: Tensors) -> Tensors:
        """See `ModelRuntime.run`."""
        if (inputs["x"] == KILLS).any():
            os.kill(os.getpid(), signal.SIGKILL)
        if (inputs["x"] == HANGS).any():
            threading.Event().wait()
        return super().run(inputs)


def install() -> None:
    """Make the runtime known in this process."""
    if NAME not in registry._factories:
        registry.register(NAME)(FatalRuntime)
