"""``kserve_matrix.py WAY ADDRESS IMAGE``: the SDK of kserve, over rest or grpc, against a service.

IMAGE is a file with a digit, an array of 1 x 12 x 12, and the label that it has.
"""

import asyncio
import functools
import logging
import sys
import uuid
from typing import Any

import numpy as np
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest, RESTConfig
from kserve.protocol.infer_type import RequestedOutput

from checks import refused, report
from tensors import DTYPES, ONLY_RAW, same, samples

way, address, image_file = sys.argv[1:]
over_rest = way == "rest"
image = np.load(image_file)


class Client:
    """One face for both clients of the SDK."""

    def __init__(self) -> None:
        self.made = InferenceRESTClient(RESTConfig(protocol="v2")) if over_rest else InferenceGRPCClient(address)
        self._where = (address,) if over_rest else ()

    async def infer(self, request: Any) -> Any:
        named = {"model_name": request.model_name} if over_rest else {}
        return await self.made.infer(*self._where, request, **named)

    async def live(self) -> Any:
        return await self.made.is_server_live(*self._where)

    async def ready(self) -> Any:
        return await self.made.is_server_ready(*self._where)

    async def model_ready(self, name: str) -> Any:
        return await self.made.is_model_ready(*self._where, name)


def given(name: str, array: np.ndarray[Any, Any], datatype: str, binary: bool) -> Any:
    tensor = InferInput(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array, binary_data=binary)
    if not over_rest and not binary and datatype == "BYTES":
        tensor.data = [each.encode() for each in tensor.data]
    return tensor


def digit(model: str = "digits", binary: bool = True, **options: Any) -> Any:
    return InferRequest(model, [given("image", image["image"], "FP32", binary)], **options)


def by_name(response: Any) -> dict[str, Any]:
    return {output.name: output for output in response.outputs}


async def health(client: Client) -> None:
    assert await client.live() is True
    assert await client.ready() is True
    assert await client.model_ready("digits")
    assert await client.model_ready("mirror")


async def nobody_is_not_ready(client: Client) -> None:
    if over_rest:
        assert not await client.model_ready("nobody")
    else:
        await refused(lambda: client.model_ready("nobody"), "NOT_FOUND", "no endpoint or variant 'nobody'")


async def labels(client: Client, binary: bool) -> None:
    outputs = by_name(await client.infer(digit(binary=binary)))
    assert int(outputs["label"].as_numpy()[0]) == int(image["label"])
    assert outputs["probabilities"].as_numpy().shape == (1, 10)


async def ids_and_parameters(client: Client) -> None:
    asked = str(uuid.uuid4())
    response = await client.infer(digit(request_id=asked, parameters={"timeout": 30_000_000, "priority": 1}))
    assert response.id == asked
    assert response.model_name == "digits"
    assert response.parameters


async def named_outputs(client: Client) -> None:
    response = await client.infer(digit(request_outputs=[RequestedOutput("label")]))
    assert list(by_name(response)) == ["label"]


async def mirrored(client: Client, binary_in: bool, binary_out: bool, rows: int) -> None:
    sent = samples(rows)
    inputs = [given(f"in_{d}", sent[d], d, binary_in or d in ONLY_RAW) for d in DTYPES]
    options = (
        {"request_outputs": [wanted(f"out_{d}", binary_out or d in ONLY_RAW) for d in DTYPES]} if over_rest else {}
    )
    outputs = by_name(await client.infer(InferRequest("mirror", inputs, **options)))
    for datatype in DTYPES:
        same(datatype, outputs[f"out_{datatype}"].as_numpy(), sent[datatype])


def wanted(name: str, binary: bool) -> Any:
    return RequestedOutput(name, {"binary_data": binary})


async def faults(client: Client) -> None:
    await refused(
        lambda: client.infer(digit(model="nobody")), "no endpoint 'nobody'", "404" if over_rest else "NOT_FOUND"
    )
    wrong = given("image", np.zeros((1, 3, 3), np.float32), "FP32", True)
    code = "400" if over_rest else "INVALID_ARGUMENT"
    await refused(lambda: client.infer(InferRequest("digits", [wrong])), "has shape [1, 3, 3]; expected", code)
    await refused(lambda: client.infer(digit(parameters={"timeout": -5})), "parameters.timeout must be a number", code)


async def main() -> None:
    logging.disable(logging.CRITICAL)
    client = Client()
    checks: dict[str, Any] = {
        "health": functools.partial(health, client),
        "nobody_is_not_ready": functools.partial(nobody_is_not_ready, client),
        "labels_of_raw": functools.partial(labels, client, True),
        "labels_of_values": functools.partial(labels, client, False),
        "ids_and_parameters": functools.partial(ids_and_parameters, client),
        "named_outputs": functools.partial(named_outputs, client),
        "faults": functools.partial(faults, client),
        "raw_to_raw": functools.partial(mirrored, client, True, True, 3),
    }
    if over_rest:
        checks["json_to_json"] = functools.partial(mirrored, client, False, False, 3)
        checks["json_to_raw"] = functools.partial(mirrored, client, False, True, 3)
        checks["raw_to_json"] = functools.partial(mirrored, client, True, False, 3)
    await report(checks)
    await client.made.close()


asyncio.run(main())
