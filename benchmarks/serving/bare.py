"""A bare ASGI application on uvicorn with ONNX Runtime: what the machine allows when nothing is managed.

The environment names the model: ``PEER_MODEL``.
"""

import os

import numpy as np
import onnxruntime
import orjson
from starlette.types import Receive, Scope, Send

_options = onnxruntime.SessionOptions()
_options.intra_op_num_threads = 1
_session = onnxruntime.InferenceSession(os.environ["PEER_MODEL"], _options, providers=["CPUExecutionProvider"])
_input = _session.get_inputs()[0].name


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one inference request of the Open Inference Protocol, one model run each."""
    message = await receive()
    body = message["body"]
    while message.get("more_body"):
        message = await receive()
        body += message["body"]
    tensor = orjson.loads(body)["inputs"][0]
    image = np.array(tensor["data"], dtype=np.float32).reshape(tensor["shape"])
    label, probabilities = _session.run(["label", "probabilities"], {_input: image})
    outputs = [
        {"name": "label", "datatype": "INT64", "shape": [1], "data": label},
        {"name": "probabilities", "datatype": "FP32", "shape": [1, 10], "data": probabilities.reshape(-1)},
    ]
    answer = orjson.dumps({"model_name": "digits", "outputs": outputs}, option=orjson.OPT_SERIALIZE_NUMPY)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
