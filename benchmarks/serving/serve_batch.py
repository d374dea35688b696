"""A plain Ray Serve application: one deployment with ``@serve.batch`` around an ONNX Runtime session.

Larger batches and more ongoing requests than Serve's defaults (10 and 5), which would hold it back.
The environment names the model: ``PEER_MODEL``.
"""

import os
from typing import Any

import numpy as np
import onnxruntime
from ray import serve
from starlette.requests import Request


class Model:
    """Decodes with Starlette, batches with Serve, answers a dictionary."""

    def __init__(self, path: str) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name

    @serve.batch(max_batch_size=64, batch_wait_timeout_s=0.002)
    async def predict(self, images: list[Any]) -> list[Any]:
        """One run for all that came together."""
        labels, probabilities = self._session.run(["label", "probabilities"], {self._input: np.concatenate(images)})
        return list(zip(labels, probabilities, strict=True))

    async def __call__(self, request: Request) -> dict[str, Any]:
        """Answer one inference request of the Open Inference Protocol."""
        tensor = (await request.json())["inputs"][0]
        image = np.array(tensor["data"], dtype=np.float32).reshape(tensor["shape"])
        label, probabilities = await self.predict(image)
        outputs = [
            {"name": "label", "datatype": "INT64", "shape": [1], "data": [int(label)]},
            {"name": "probabilities", "datatype": "FP32", "shape": [1, 10], "data": probabilities.tolist()},
        ]
        return {"model_name": "digits", "outputs": outputs}


deployment = serve.deployment(max_ongoing_requests=256, ray_actor_options={"num_cpus": 0.5})(Model)
app = deployment.bind(os.environ.get("PEER_MODEL", ""))
