"""Clients that others wrote against one service in high-throughput mode, each in a process of its own.

Their messages over gRPC have the names that ours have, so that no process can hold both.
"""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx2
import numpy as np
import pytest
import yaml
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from http_scene import digit

from catalog.tensor import TensorSpec
from catalog.zoo.digits import held_out
from mirror_models import MIRRORED, write_mirror_catalogue
from run_scene import ROOT, started
from serve_app.loadgen.answer import read_response
from serve_app.loadgen.binary_bodies import binary_bodies
from serve_app.loadgen.dataset import JSON_BYTES
from serve_app.testing.free_ports import find_free_port

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not (Path(sys.prefix) / "clients").exists(), reason="tests/support/clients/requirements.txt is not installed"
    ),
]

CLIENTS = ROOT / "tests" / "support" / "clients"
PYTHON = Path(sys.prefix) / "clients" / "bin" / "python"
"""Of an environment that the clients have to themselves; `make test` makes it."""
INFER = "/v2/models/digits/infer"

OTHERWISE = {f"inference.RepositoryModel{what}Request.model_name" for what in ("Load", "Unload")}
"""The kserve SDK has the name in the first field, which Triton has for the repository's."""


@dataclass(frozen=True)
class Serving:
    """``image`` is the file of a digit with the label that the service gives it."""

    url: str
    grpc_port: int
    folder: Path
    image: Path

    def checked(self, script: str, *arguments: str) -> None:
        """Run a client and hold it to all of its checks."""
        done = run(script, *arguments)
        assert done.returncode == 0, done.stderr[-3000:]
        told = json.loads(done.stdout.splitlines()[-1])
        assert len(told) >= 5
        wrong = {name: trace for name, trace in told.items() if trace}
        assert not wrong, "\n".join(f"{name}: {trace}" for name, trace in wrong.items())


def run(script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(PYTHON), str(CLIENTS / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, env=env)


@pytest.fixture(scope="module")
def serving(free_port: int, free_ports: list[int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("clients")
    write_mirror_catalogue(folder)
    config = yaml.safe_load((ROOT / "configs" / "quickstart.yaml").read_text())
    grpc_port = find_free_port()
    config["http_options"]["port"], config["grpc_options"]["port"] = free_port, grpc_port
    arguments = config["applications"][0]["args"]
    arguments |= {
        "catalogue": str(folder / "catalogue.yaml"),
        "profiles": {"cpu": str(folder / "profiles.csv")},
        "controller": {"state": str(folder / "state.db")},
        "warm_up_s": 0,
    }
    digits = arguments["endpoints"]["digits"]
    digits |= {"slo_ms": 5000, "selection": {"policy": "greedy"}}
    for task in ("mirror", "halves"):
        arguments["endpoints"][task] = {"task": task, "slo_ms": 5000, "selection": {"policy": "greedy"}}
    path = folder / "service.yaml"
    path.write_text(yaml.safe_dump(config))
    url = f"http://127.0.0.1:{free_port}"
    with started(path, url, free_ports, {}, log=folder / "log"):
        said = httpx2.post(f"{url}{INFER}", json=digit(0), timeout=30).json()
        label = next(each["data"][0] for each in said["outputs"] if each["name"] == "label")
        np.savez(folder / "digit.npz", image=held_out()[0][:1].astype(np.float32), label=label)
        yield Serving(url, grpc_port, folder, folder / "digit.npz")


@pytest.mark.parametrize("flavour", ["http", "http.aio", "grpc", "grpc.aio"])
def test_tritonclient(serving: Serving, flavour: str) -> None:
    host = serving.url.removeprefix("http://") if flavour.startswith("http") else f"127.0.0.1:{serving.grpc_port}"
    serving.checked("triton_matrix.py", flavour, host, str(serving.image), str(serving.folder / "variant.json"))


@pytest.mark.parametrize("way", ["rest", "grpc"])
def test_kserve(serving: Serving, way: str) -> None:
    address = serving.url if way == "rest" else f"127.0.0.1:{serving.grpc_port}"
    serving.checked("kserve_matrix.py", way, address, str(serving.image))


def test_headers_of_a_request_are_kept_and_its_time_counts(serving: Serving) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    headers = {"x-request-id": "mine-7", "traceparent": trace}
    response = httpx2.post(f"{serving.url}{INFER}", json=digit(0), headers=headers, timeout=30)
    assert response.status_code == 200
    assert (response.headers["x-request-id"], response.headers["traceparent"]) == ("mine-7", trace)
    assert response.json()["id"] == "mine-7"
    own = httpx2.post(f"{serving.url}{INFER}", json={"id": "own", **digit(0)}, headers=headers, timeout=30)
    assert own.json()["id"] == "own"
    for header, value in (("grpc-timeout", "1u"), ("x-request-timeout-seconds", "0.000001")):
        late = httpx2.post(f"{serving.url}{INFER}", json=digit(0), headers={header: value}, timeout=30)
        assert late.status_code in (429, 504), late.text
        assert late.headers["content-type"] == "application/json"


def test_a_compressed_body_is_held_to_the_size_of_what_it_holds(serving: Serving) -> None:
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    body = gzip.compress(json.dumps(digit(0)).encode())
    assert httpx2.post(f"{serving.url}{INFER}", content=body, headers=headers, timeout=30).status_code == 200
    bomb = gzip.compress(b" " * 200_000_000)
    refused = httpx2.post(f"{serving.url}{INFER}", content=bomb, headers=headers, timeout=30)
    assert (refused.status_code, refused.json()["reason"]) == (413, "TooLarge")


def test_a_query_and_its_answer_may_be_as_large_as_bodies_may(serving: Serving) -> None:
    """They go to the worker and back as messages, for which Serve and gRPC have bounds of their own."""
    specs = {f"in_{name}": TensorSpec(f"in_{name}", name, (-1, 3)) for name in MIRRORED}
    text = "x" * 2_500_000
    arrays = {
        name: np.full((1, 3), text if spec.datatype == "BYTES" else 1, spec.dtype) for name, spec in specs.items()
    }
    (body,), (json_bytes,) = binary_bodies(arrays, specs, None, {})
    headers = {JSON_BYTES: str(json_bytes)}
    response = httpx2.post(f"{serving.url}/v2/models/mirror/infer", content=body, headers=headers, timeout=60)
    assert response.status_code == 200, response.text[:1000]
    outputs = read_response(response.content, response.headers[JSON_BYTES])["outputs"]
    assert next(each["data"] for each in outputs if each["name"] == "out_BYTES") == [text] * 3


def test_a_long_answer_is_compressed_where_that_is_taken(serving: Serving) -> None:
    images = held_out()[0][:60].astype(np.float32)
    tensor = {"name": "image", "shape": [60, 12, 12], "datatype": "FP32", "data": images.ravel().tolist()}
    answers = [
        httpx2.post(
            f"{serving.url}{INFER}", json={"inputs": [tensor]}, headers={"accept-encoding": accepted}, timeout=30
        )
        for accepted in ("gzip", "deflate", "identity")
    ]
    assert [each.headers.get("content-encoding") for each in answers] == ["gzip", "deflate", None]
    assert len({json.dumps(each.json()["outputs"]) for each in answers}) == 1


def test_a_call_over_grpc_that_is_not_served_is_unimplemented(serving: Serving) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{serving.grpc_port}") as channel:
        stream = channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer")
        with pytest.raises(grpc.RpcError) as refused:
            list(stream(iter([b""]), timeout=20))
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_health_is_told_as_kubernetes_and_envoy_ask_for_it(serving: Serving) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{serving.grpc_port}") as channel:
        stub = HealthStub(channel)
        for service in ("", "inference.GRPCInferenceService", "digits", "mirror"):
            assert stub.Check(HealthCheckRequest(service=service), timeout=20).status == HealthCheckResponse.SERVING
        with pytest.raises(grpc.RpcError) as refused:
            stub.Check(HealthCheckRequest(service="nothing"), timeout=20)
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
        watched = stub.Watch(HealthCheckRequest(), timeout=20)
        with pytest.raises(grpc.RpcError) as refused:
            next(watched)
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_field_numbers_are_those_of_the_clients(serving: Serving) -> None:
    """A field that we have stands under the same number, and with the same type, in the clients' own messages."""
    from serve_app.grpc.protocol import inference_pb2

    ours: dict[str, Any] = {}
    for message in inference_pb2.DESCRIPTOR.message_types_by_name.values():
        _fields(message, ours)
    for package in ("tritonclient.grpc.service_pb2", "kserve.protocol.grpc.grpc_predict_v2_pb2"):
        done = run("descriptors.py", package)
        assert done.returncode == 0, done.stderr[-2000:]
        theirs = json.loads(done.stdout.splitlines()[-1])
        common = ours.keys() & theirs.keys() - OTHERWISE
        assert len(common) > 60
        assert {name: (ours[name], theirs[name]) for name in common if ours[name] != theirs[name]} == {}


def _fields(message: Any, into: dict[str, Any]) -> None:
    for field in message.fields:
        into[field.full_name] = [field.number, field.type]
    for nested in message.nested_types:
        _fields(nested, into)
