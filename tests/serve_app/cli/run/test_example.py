"""The request that `accord run` prints."""

import shlex
from typing import Any

import pytest

from catalog.tensor import DTYPES, TensorSpec
from serve_app.cli.run.command import _example, to_try
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.request import ONLY_BINARY, decode

URL = "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("spec", "shape", "data"),
    [
        ({"datatype": "INT64", "shape": [-1, -1]}, [1, 1], [0]),
        ({"datatype": "FP32", "shape": [-1, 2, -1]}, [1, 2, 1], [0, 0]),
        ({"datatype": "BOOL", "shape": [-1, 2]}, [1, 2], [False, False]),
        ({"datatype": "BYTES", "shape": [-1]}, [1], ["a fine day"]),
        ({"datatype": "BYTES", "shape": [-1, 2]}, [1, 2], ["a fine day", "a fine day"]),
    ],
)
def test_an_example_has_the_shape_that_it_says(spec: dict[str, Any], shape: list[int], data: list[Any]) -> None:
    found = _example("other", {"name": "x"} | spec)
    assert (found["shape"], found["data"]) == (shape, data)


def endpoint(task: str, *inputs: TensorSpec, output: str = "INT64") -> EndpointInfo:
    return EndpointInfo("mine", {"": task}, inputs, (TensorSpec("label", output, (-1,)),), (), 8)


def lines(info: EndpointInfo, url: str = URL) -> tuple[str, str | None]:
    asking, loading = to_try(url, "mine", info.metadata(0.1, (), ()), "")
    return asking, None if loading is None else loading.partition(" ")[2]


@pytest.mark.parametrize("datatype", sorted(DTYPES.keys() - ONLY_BINARY))
@pytest.mark.parametrize(("task", "shape"), [("mine", (-1, 3)), ("digits", (-1, 12, 12)), ("digits", (-1, 28, 28))])
def test_the_printed_request_is_one_that_the_endpoint_takes(task: str, shape: tuple[int, ...], datatype: str) -> None:
    info = endpoint(task, TensorSpec("image", datatype, shape))
    *_, body = shlex.split(lines(info)[0])
    assert decode(body.encode(), info).inputs["image"].shape == (1, *shape[1:])


@pytest.mark.parametrize(("kind", "output"), [("FP16", "INT64"), ("FP32", "FP16"), ("FP32", "BF16")])
def test_what_json_cannot_hold_is_asked_for_in_bytes(kind: str, output: str) -> None:
    asking, loading = lines(endpoint("mine", TensorSpec("x", kind, (-1, 3)), output=output))
    assert asking.endswith(" query --endpoint mine --dataset FILE.npz --binary")
    assert loading == "load --endpoint mine --dataset FILE.npz --binary --rate 50 --duration 30"


def test_bf16_is_sent_by_no_command() -> None:
    asking, loading = lines(endpoint("mine", TensorSpec("x", "BF16", (-1, 3))))
    assert "send tensors as bytes" in asking
    assert loading is None


def test_another_port_is_named_to_the_commands() -> None:
    _, loading = lines(endpoint("digits", TensorSpec("image", "FP32", (-1, 12, 12))), "http://127.0.0.1:8123")
    assert loading == "load --endpoint mine --url http://127.0.0.1:8123 --rate 50 --duration 30"
