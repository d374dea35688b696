"""The codec of tritonclient, timed in a process of its own: its messages cannot live beside ours.

Reads ``rounds`` words from standard input, a line each, and writes what one round took: seconds by way, as JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tritonclient.http import InferenceServerClient, InferInput, InferResult


def main() -> None:
    """Time a round for every line that comes in."""
    shape, calls, seed = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    tensor = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    output = {"name": "y", "datatype": "FP32", "shape": shape}
    whole = {"model_name": "codec", "model_version": "1"}
    raw = tensor.tobytes()
    head = json.dumps({**whole, "outputs": [{**output, "parameters": {"binary_data_size": len(raw)}}]}).encode()
    binary = head + raw
    text = json.dumps({**whole, "outputs": [{**output, "data": tensor.ravel().tolist()}]}).encode()

    def write(binary: bool) -> Any:
        given = InferInput("x", shape, "FP32")
        given.set_data_from_numpy(tensor, binary_data=binary)
        return InferenceServerClient.generate_request_body([given])

    def read(body: bytes, json_bytes: int | None) -> Any:
        return InferResult.from_response_body(body, header_length=json_bytes).as_numpy("y")

    ways: dict[str, tuple[Callable[[], Any], int]] = {
        "decode_binary_s": (lambda: read(binary, len(head)), calls),
        "encode_binary_s": (lambda: write(True), calls),
        "decode_json_s": (lambda: read(text, None), 1),
        "encode_json_s": (lambda: write(False), 1),
    }
    assert np.array_equal(read(head + raw, len(head)), tensor)
    for _ in sys.stdin:
        taken_s = {}
        for name, (way, times) in ways.items():
            began_s = time.perf_counter()
            for _ in range(times):
                way()
            taken_s[name] = (time.perf_counter() - began_s) / times
        print(json.dumps(taken_s), flush=True)


if __name__ == "__main__":
    main()
