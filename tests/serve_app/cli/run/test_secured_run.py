"""`accord run` with keys: both ways in ask for them, and nothing of it listens beyond loopback."""

import ipaddress
import json
import secrets
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx2
import psutil
import pytest
import yaml
from http_scene import until
from security_scene import new_key, secret_file

from catalog.zoo.digits import held_out
from run_scene import ROOT, Started, started
from serve_app.grpc.protocol import inference_pb2 as pb
from serve_app.grpc.protocol.inference_pb2_grpc import GRPCInferenceServiceStub
from serve_app.testing.free_ports import find_free_port

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

INFER = "/v2/models/digits/infer"
MARK = {"ACCORD_TEST_RUN": uuid.uuid4().hex}
FIRST_ROUTER_PORT = 30000
"""Serve's first port for HTTP servers of replicas."""
FIRST_GRPC_PORT = 40000


class Secured:
    def __init__(self, running: Started, key: str, grpc_port: int) -> None:
        self.running = running
        self.grpc_port = grpc_port
        self.key = key
        self.sockets: list[tuple[str, str, int]] = []
        until(self._seen)

    def _seen(self) -> bool:
        """Look at all sockets; a process that is being looked at may answer late on a busy machine."""
        self.sockets = [each for process in _family() for each in _listening(process)]
        return bool(self.routers)

    @property
    def routers(self) -> list[int]:
        """Ports of the HTTP servers of routers."""
        return sorted({port for _, _, port in self.sockets if 0 <= port - FIRST_ROUTER_PORT < 1000})


@pytest.fixture(scope="module")
def secured(free_port: int, free_ports: list[int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The quickstart, with one key that may infer and observe."""
    folder, key = tmp_path_factory.mktemp("secured-run"), new_key()
    config = yaml.safe_load((ROOT / "configs" / "quickstart.yaml").read_text())
    config["http_options"]["port"], config["grpc_options"]["port"] = free_port, find_free_port()
    file = secret_file(folder, key)
    keys = {"shop": {"file": file, "roles": ["infer", "observe"]}}
    config["applications"][0]["args"] |= {"security": {"api_keys": keys}}
    path = folder / "quickstart.yaml"
    path.write_text(yaml.safe_dump(config))
    env = MARK | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with started(path, f"http://127.0.0.1:{free_port}", free_ports, env, log=folder / "log") as running:
        yield Secured(running, key, config["grpc_options"]["port"])


def digit() -> dict[str, Any]:
    pixels = held_out()[0][0].ravel().tolist()
    return {"inputs": [{"name": "image", "shape": [1, 12, 12], "datatype": "FP32", "data": pixels}]}


def _family() -> list[psutil.Process]:
    return [process for process in psutil.process_iter() if _is_marked(process)]


def _is_marked(process: psutil.Process) -> bool:
    try:
        return MARK.items() <= process.environ().items()
    except psutil.Error:
        return False


def _listening(process: psutil.Process) -> list[tuple[str, str, int]]:
    try:
        found = process.net_connections(kind="inet")
        return [(process.name(), c.laddr.ip, c.laddr.port) for c in found if c.status == psutil.CONN_LISTEN]
    except psutil.Error:
        return []


def test_the_printed_line_works_where_the_key_is_and_does_not_have_it(secured: Secured) -> None:
    assert secured.key not in secured.running.line
    done = subprocess.run(["bash", "-c", secured.running.line], capture_output=True, text=True, timeout=30, check=True)
    assert json.loads(done.stdout)["outputs"]


def test_the_proxy_and_the_routers_own_server_ask_for_the_key(secured: Secured) -> None:
    own = [f"http://127.0.0.1:{port}" for port in secured.routers]
    answered = 0
    for url in (secured.running.url, *own):
        with httpx2.Client(base_url=url, timeout=20) as client:
            for method, path, content in (
                ("POST", INFER, {"json": digit()}),
                ("POST", "/v2/models/digits/versions/1/infer", {"json": digit()}),
                ("GET", "/accord/status", {}),
                ("GET", "/v2/models/digits", {}),
            ):
                try:
                    nobody = client.request(method, path, **content)
                except httpx2.TransportError:
                    continue  # another service's port
                assert nobody.status_code == 401, (url, path, nobody.text)
                known = client.request(method, path, headers={"X-Api-Key": secured.key}, **content)
                assert known.status_code == 200
                answered += 1
            register = client.post("/accord/variants", headers={"X-Api-Key": secured.key}, json={})
            assert register.status_code == 403
    assert answered >= 8
    assert httpx2.get(f"{secured.running.url}/v2/health/live").status_code == 200


def test_the_proxy_and_the_routers_own_server_for_grpc_ask_for_the_key(secured: Secured) -> None:
    near = [each for each in secured.sockets if 0 <= each[2] - FIRST_GRPC_PORT < 1000]
    own = [port for name, address, port in near if "ServeReplica" in name and _is_loopback(address)]
    answered = set()
    for port in (secured.grpc_port, *own):
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = GRPCInferenceServiceStub(channel)
            with pytest.raises(grpc.RpcError) as refused:
                stub.ServerMetadata(pb.ServerMetadataRequest(), timeout=20)
            if refused.value.code() is grpc.StatusCode.UNIMPLEMENTED:
                continue  # Ray's own server of the process, at a port that the kernel chose
            assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
            known = stub.ServerMetadata(pb.ServerMetadataRequest(), timeout=20, metadata=[("x-api-key", secured.key)])
            assert known.name == "accord"
            answered.add(port)
    assert secured.grpc_port in answered
    assert len(answered) >= 2, "the proxy and a router"


@pytest.mark.parametrize(
    "path",
    ["//v2/models/digits/infer", "/v2/models/digits/%69nfer", "/v2/./models/digits/infer", "/V2/models/digits/infer"],
)
def test_no_way_of_writing_a_path_is_answered_without_a_key(secured: Secured, path: str) -> None:
    response = httpx2.post(f"{secured.running.url}{path}", json=digit(), timeout=20)
    assert response.status_code in (401, 404)
    assert "outputs" not in response.text


def test_what_listens_elsewhere_is_only_what_asks_for_rays_token(secured: Secured) -> None:
    """Serve gives every replica a server for calls between deployments, on all addresses, which unpickles them."""
    assert len(secured.sockets) > 10
    elsewhere = [each for each in secured.sockets if not _is_loopback(each[1])]
    assert all("ServeReplica" in name for name, _, _ in elsewhere), str(elsewhere)
    for _, _, port in elsewhere:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = channel.unary_unary("/ray.serve.ASGIService/HandleRequest")
            with pytest.raises(grpc.RpcError) as refused:
                call(b"", timeout=20)  # well formed, and without a token
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED, refused.value


def _is_loopback(address: str) -> bool:
    found = ipaddress.ip_address(address)
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


def test_no_key_is_in_the_log_or_on_a_command_line(secured: Secured) -> None:
    assert secured.key not in secured.running.log.read_text()
    for process in _family():
        try:
            assert secured.key not in " ".join(process.cmdline())
        except psutil.Error:
            continue

    named = [word for word in secured.running.log.read_text().split() if word.strip("()").endswith(".log")]
    assert named
    assert all(secured.key not in Path(word.strip("()")).read_text(errors="replace") for word in named)
