"""``triton_matrix.py FLAVOUR ADDRESS IMAGE VARIANT``: tritonclient against a service.

FLAVOUR is http, http.aio, grpc or grpc.aio. IMAGE is a file with a digit, an array of 1 x 12 x 12, and the label that
it has; VARIANT one that describes a variant.
"""

import asyncio
import contextlib
import functools
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from checks import now, refused, report
from tensors import DTYPES, ONLY_RAW, same, samples

flavour, address, image_file, variant_file = sys.argv[1:]
client_module = importlib.import_module(f"tritonclient.{flavour}")
over_http = flavour.startswith("http")
asynchronous = flavour.endswith("aio")
image = np.load(image_file)
variant = json.loads(Path(variant_file).read_text())
as_json = {} if over_http else {"as_json": True}
Input, Output = client_module.InferInput, client_module.InferRequestedOutput


def given(name: str, array: np.ndarray[Any, Any], datatype: str, binary: bool = True) -> Any:
    tensor = Input(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array, **({"binary_data": binary} if over_http else {}))
    return tensor


def wanted(name: str, binary: bool = True) -> Any:
    return Output(name, **({"binary_data": binary} if over_http else {}))


def digit(client: Any, **options: Any) -> Any:
    return client.infer(options.pop("model", "digits"), [given("image", image["image"], "FP32")], **options)


async def mirrored(client: Any, binary_in: bool, binary_out: bool, rows: int) -> None:
    sent = samples(rows)
    inputs = [given(f"in_{d}", sent[d], d, binary_in or d in ONLY_RAW) for d in DTYPES]
    outputs = [wanted(f"out_{d}", binary_out or d in ONLY_RAW) for d in DTYPES]
    result = await now(client.infer("mirror", inputs, outputs=outputs))
    for datatype in DTYPES:
        same(datatype, result.as_numpy(f"out_{datatype}"), sent[datatype])


async def halves(client: Any) -> None:
    """BF16, which has no form in JSON."""
    sent = np.arange(-8, 8, 0.25).reshape(-1, 1).astype(ml_dtypes.bfloat16)
    for outputs in (None, [wanted("out_BF16")]):
        result = await now(client.infer("halves", [given("in_BF16", sent, "BF16")], outputs=outputs))
        given_back = result.as_numpy("out_BF16").astype(np.float32)
        np.testing.assert_array_equal(given_back, sent.astype(np.float32))
    if over_http:
        asked = [wanted("out_BF16", binary=False)]
        await refused(lambda: client.infer("halves", [given("in_BF16", sent, "BF16")], outputs=asked), "ask for it")


async def health(client: Any) -> None:
    assert await now(client.is_server_live())
    assert await now(client.is_server_ready())
    for name, version in (("digits", ""), ("digits", "1"), ("mirror", "")):
        assert await now(client.is_model_ready(name, version)), name
    if over_http:
        assert not await now(client.is_model_ready("nobody"))
        assert not await now(client.is_model_ready("digits", "7"))
    else:
        await refused(lambda: client.is_model_ready("nobody"), "NOT_FOUND", "'nobody'")
        await refused(lambda: client.is_model_ready("digits", "7"), "NOT_FOUND", "'7'")


async def metadata(client: Any) -> None:
    server = await now(client.get_server_metadata(**as_json))
    assert server["name"] == "accord"
    for extension in ("binary_tensor_data", "statistics", "model_repository", "model_configuration", "schedule_policy"):
        assert extension in server["extensions"]
    for version in ("", "1"):
        model = await now(client.get_model_metadata("digits", version, **as_json))
        assert (model["name"], model["versions"]) == ("digits", ["1"])
        (tensor,) = model["inputs"]
        assert (tensor["name"], tensor["datatype"]) == ("image", "FP32")
        assert [int(axis) for axis in tensor["shape"]] == [-1, 12, 12]
    await refused(lambda: client.get_model_metadata("nobody", **as_json), "no endpoint 'nobody'")


async def configuration(client: Any) -> None:
    config = await now(client.get_model_config("digits", **as_json))
    config = config.get("config", config)
    assert config["name"] == "digits"
    assert config["max_batch_size"] >= 1
    assert config["input"][0]["data_type"] == "TYPE_FP32"
    assert [int(axis) for axis in config["input"][0]["dims"]] == [12, 12]
    await refused(lambda: client.get_model_config("nobody", **as_json), "no endpoint 'nobody'")


async def counted(client: Any) -> dict[str, Any]:
    told = await now(client.get_inference_statistics("digits", **as_json))
    (model,) = told["model_stats"]
    assert model["name"] == "digits"
    return dict(model)


async def statistics(client: Any) -> None:
    await now(digit(client))
    before = await counted(client)
    for _ in range(3):
        await now(digit(client))
    after = await counted(client)
    grown = {key: int(after[key]) - int(before[key]) for key in ("inference_count", "execution_count")}
    assert grown == {"inference_count": 3, "execution_count": 3}, grown
    took = {key: int(after["inference_stats"][key]["ns"]) for key in ("success", "queue", "compute_infer")}
    assert all(ns > 0 for ns in took.values())
    assert took["success"] >= took["compute_infer"]
    assert int(after["last_inference"]) > 1_600_000_000_000
    everything = await now(client.get_inference_statistics(**as_json))
    assert {model["name"] for model in everything["model_stats"]} == {"digits", "mirror", "halves"}


async def numbers_and_labels(client: Any) -> None:
    result = await now(digit(client))
    assert int(result.as_numpy("label")[0]) == int(image["label"])
    assert abs(float(result.as_numpy("probabilities").sum()) - 1) < 1e-3


async def named_outputs(client: Any) -> None:
    result = await now(digit(client, outputs=[wanted("label")]))
    assert result.as_numpy("label").shape == (1,)
    assert result.as_numpy("probabilities") is None
    await refused(lambda: digit(client, outputs=[wanted("logits")]), "output 'logits' is unknown")


async def ids(client: Any) -> None:
    for asked in ("mine-1", "ü" if over_http else "u"):
        result = await now(digit(client, request_id=asked))
        response = result.get_response()
        assert (response["id"] if over_http else response.id) == asked
    response = (await now(digit(client))).get_response()
    assert response["id"] if over_http else response.id


async def versions(client: Any) -> None:
    result = await now(digit(client, model_version="1"))
    assert result.as_numpy("label").shape == (1,)
    await refused(lambda: digit(client, model_version="7"), "there is no version '7'")


async def batches(client: Any) -> None:
    many = np.repeat(image["image"], 5, axis=0)
    result = await now(client.infer("digits", [given("image", many, "FP32")]))
    assert result.as_numpy("label").tolist() == [int(image["label"])] * 5


async def compression(client: Any) -> None:
    for how in ("gzip", "deflate"):
        if over_http:
            options = {"request_compression_algorithm": how, "response_compression_algorithm": how}
        else:
            options = {"compression_algorithm": how}
        result = await now(digit(client, **options))
        assert int(result.as_numpy("label")[0]) == int(image["label"])
        sent = samples(60)  # long enough an answer
        inputs = [given(f"in_{d}", sent[d], d) for d in DTYPES]
        result = await now(client.infer("mirror", inputs, **options))
        for datatype in DTYPES:
            same(datatype, result.as_numpy(f"out_{datatype}"), sent[datatype])


async def times_and_priorities(client: Any) -> None:
    for options in ({"priority": 1}, {"timeout": 30_000_000}, {"priority": 5, "timeout": 30_000_000}):
        result = await now(digit(client, **options))
        assert result.as_numpy("label").shape == (1,)
    await refused(lambda: digit(client, timeout=1), "" if over_http else "StatusCode.")
    result = await now(digit(client, parameters={"slo_ms": 30_000}))
    assert result.as_numpy("label").shape == (1,)


async def faults(client: Any) -> None:
    await refused(lambda: digit(client, model="nobody"), "no endpoint 'nobody'; endpoints here: digits, halves, mirror")
    wrong = np.zeros((1, 3, 3), np.float32)
    await refused(lambda: client.infer("digits", [given("image", wrong, "FP32")]), "has shape [1, 3, 3]; expected")
    await refused(lambda: client.infer("digits", [given("img", image["image"], "FP32")]), "input 'img' is unknown")
    other = image["image"].astype(np.float64)
    await refused(lambda: client.infer("digits", [given("image", other, "FP64")]), "datatype 'FP64'; expected 'FP32'")
    none = np.full((1, 12, 12), np.nan, np.float32)
    await refused(lambda: client.infer("digits", [given("image", none, "FP32")]), "holds NaN")
    if not over_http:
        await refused(lambda: digit(client, model="nobody"), "NOT_FOUND")
        await refused(lambda: client.infer("digits", [given("image", wrong, "FP32")]), "INVALID_ARGUMENT")


async def indexed(client: Any) -> dict[str, str]:
    index = await now(client.get_model_repository_index(**as_json))
    models = index if isinstance(index, list) else index["models"]
    return {model["name"]: model["state"] for model in models}


async def variants_come_and_go(client: Any) -> None:
    before = await indexed(client)
    assert (before["digits"], before["mirror"]) == ("READY", "READY")
    name = f"{variant['name']}-{flavour.replace('.', '-')}"
    await refused(lambda: client.load_model(name), f"no endpoint or variant {name!r}")
    await now(client.load_model(name, config=json.dumps({**variant, "name": name})))
    await until_state(client, name, "READY")
    assert await now(client.is_model_ready(name))
    await now(client.unload_model(name))
    await until_state(client, name, "UNAVAILABLE")
    await now(client.load_model(name))
    await until_state(client, name, "READY")
    await now(client.unload_model(name))
    await refused(lambda: client.unload_model("digits"), "'digits' is an endpoint")
    await refused(lambda: client.load_model(name, config="{nope"), "parameters.config is not JSON")


async def until_state(client: Any, name: str, state: str) -> None:
    while (await indexed(client)).get(name, "UNAVAILABLE") != state:
        await asyncio.sleep(0.2)


async def giving_up(client: Any) -> None:
    """A query that its client gives up, and one more."""
    if over_http and not asynchronous:
        client.async_infer("digits", [given("image", image["image"], "FP32")]).get_result()
    elif asynchronous:
        task = asyncio.ensure_future(digit(client))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    else:
        call = client.async_infer("digits", [given("image", image["image"], "FP32")], lambda result, error: None)
        call.cancel()
    if not over_http:
        await refused(lambda: digit(client, client_timeout=1e-6), "DEADLINE_EXCEEDED")
    await numbers_and_labels(client)


async def no_streams(client: Any) -> None:
    if asynchronous:
        refusal = asyncio.Event()

        async def requests() -> Any:
            await refusal.wait()  # to write to a stream that ends meanwhile is an internal error to grpc.aio
            yield {"model_name": "digits", "inputs": [given("image", image["image"], "FP32")]}

        async def first() -> Any:
            async for result, error in client.stream_infer(requests()):
                if error is not None:
                    raise error
                return result

        await refused(first, "UNIMPLEMENTED")
        refusal.set()
        return
    told: asyncio.Queue[Any] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    client.start_stream(lambda result, error: loop.call_soon_threadsafe(told.put_nowait, error))
    with contextlib.suppress(Exception):  # the stream has ended by now
        client.async_stream_infer("digits", [given("image", image["image"], "FP32")])
    assert "UNIMPLEMENTED" in str(await told.get())
    client.stop_stream(cancel_requests=True)


async def main() -> None:
    client = client_module.InferenceServerClient(address)
    checks: dict[str, Any] = {
        check.__name__: functools.partial(check, client)
        for check in (
            health,
            halves,
            metadata,
            configuration,
            statistics,
            numbers_and_labels,
            named_outputs,
            ids,
            versions,
            batches,
            compression,
            times_and_priorities,
            faults,
            variants_come_and_go,
            giving_up,
            *(() if over_http else (no_streams,)),
        )
    }
    for binary_in, binary_out in ((True, True), *(((False, False), (False, True), (True, False)) if over_http else ())):
        for rows in (1, 4):
            forms = f"{'raw' if binary_in else 'json'}_to_{'raw' if binary_out else 'json'}_{rows}"
            checks[forms] = functools.partial(mirrored, client, binary_in, binary_out, rows)
    await report(checks)
    await now(client.close())


asyncio.run(main())
