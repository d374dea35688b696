"""What a user would write: a Serve deployment with ``@serve.batch`` that takes the small model while more than so many
queries wait.

``user_config`` says which models, how many queries, and how batches are made; it may change while the application runs.
"""

import asyncio
from typing import Any

import numpy as np
import onnxruntime
import orjson
from ray import serve
from starlette.requests import Request
from starlette.responses import Response


class Model:
    """``models`` maps the names of models to their files."""

    def __init__(self, models: dict[str, str]) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._models = {n: onnxruntime.InferenceSession(file, options) for n, file in models.items()}
        self._config: dict[str, Any] = {}
        self._waiting = 0

    def reconfigure(self, config: dict[str, Any]) -> None:
        """Called by Serve: ``accurate``, ``small``, ``limit``, ``max_batch``, ``wait_s``, ``threaded``."""
        self._config = config
        self.predict.set_max_batch_size(config["max_batch"])
        self.predict.set_batch_wait_timeout_s(config["wait_s"])

    @serve.batch(max_batch_size=64, batch_wait_timeout_s=0.002)
    async def predict(self, images: list[Any]) -> list[tuple[str, list[int]]]:
        """Which model is taken, and the class of each image of each query."""
        name = self._config["small" if self._waiting > self._config["limit"] else "accurate"]
        run, stacked = self._models[name].run, {"image": np.concatenate(images)}
        (labels,) = (
            await asyncio.to_thread(run, ["label"], stacked) if self._config["threaded"] else run(["label"], stacked)
        )
        ends = np.cumsum([len(each) for each in images])
        return [(name, part.tolist()) for part in np.split(labels, ends[:-1])]

    async def __call__(self, request: Request) -> Response:
        """Answer one inference request of the Open Inference Protocol."""
        self._waiting += 1
        try:
            tensor = orjson.loads(await request.body())["inputs"][0]
            image = np.array(tensor["data"], dtype=np.float32).reshape(tensor["shape"])
            variant, labels = await self.predict(image)
        finally:
            self._waiting -= 1
        output = {"name": "label", "datatype": "INT64", "shape": [len(labels)], "data": labels}
        answer = {"model_name": "digits", "outputs": [output], "parameters": {"variant": variant}}
        return Response(orjson.dumps(answer), media_type="application/json")


deployment = serve.deployment(name="Model", max_ongoing_requests=1000, ray_actor_options={"num_cpus": 0.1})(Model)


def build(args: dict[str, Any]) -> serve.Application:
    """The application of a Serve config; ``args`` has ``models`` and ``replicas``."""
    return deployment.options(num_replicas=args["replicas"]).bind(args["models"])
