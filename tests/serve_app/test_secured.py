"""A service that asks for keys, with TLS, in default mode on a real local cluster; and one that may not start."""

import shutil
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx2
import pytest
from certificates import self_signed
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from http_scene import toy, until
from ray import serve
from security_scene import jwt_config, new_key, secret_file, signed

from serve_app.cli.config_file import GRPC_SERVICERS
from serve_app.config.schema import AppConfig
from serve_app.grpc.protocol import inference_pb2 as pb
from serve_app.grpc.protocol.inference_pb2_grpc import GRPCInferenceServiceStub
from serve_app.main import build
from serve_app.testing.free_ports import find_free_port
from toy_models import write_toy_catalogue

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

INFER = "/v2/models/toy/infer"
GOOD = toy(1.0)


@dataclass
class Secured:
    """``keys`` are by client; ``token`` signs for its issuer."""

    client: httpx2.Client
    folder: Path
    keys: dict[str, str]
    token: Callable[..., str]
    grpc_address: str

    def send(self, key: str | None, method: str, path: str, **content: Any) -> httpx2.Response:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return self.client.request(method, path, headers=headers, **content)


@pytest.fixture(scope="module")
def secured(ray_cluster: None, free_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    keys, secret = {role: new_key() for role in ("infer", "observe", "admin")}, new_key()
    files = {role: secret_file(folder, key, role) for role, key in keys.items()}
    config = AppConfig.model_validate(
        {
            "catalogue": str(write_toy_catalogue(folder)),
            "profiles": {"cpu": str(folder / "profiles.csv")},
            "endpoints": {"toy": {"task": "toy", "slo_ms": 1000, "selection": {"policy": "greedy"}}},
            "pools": {"cpu": {"workers": 1, "num_cpus": 0.1}},
            "router_num_cpus": 0.1,
            "warm_up_s": 0,
            "controller": {"state": str(folder / "state.db")},
            "security": {
                "api_keys": {role: {"file": file, "roles": [role]} for role, file in files.items()},
                "jwt": jwt_config("HS256", secret_file(folder, secret, "jwt")),
            },
        }
    )
    key_file, certificate = self_signed(folder)
    tls = {"ssl_keyfile": key_file, "ssl_certfile": certificate}
    grpc_options = {"port": find_free_port(), "grpc_servicer_functions": [*GRPC_SERVICERS]}
    serve.start(http_options={"host": "127.0.0.1", "port": free_port, **tls}, grpc_options=grpc_options)
    serve.run(build(config.model_dump()), name="secured", route_prefix="/")
    context = ssl.create_default_context(cafile=certificate)
    with httpx2.Client(base_url=f"https://127.0.0.1:{free_port}", verify=context, timeout=60) as client:
        until(lambda: client.get("/v2/health/ready").status_code == 200)
        yield Secured(
            client,
            folder,
            keys,
            lambda **claims: signed(secret, "HS256", **claims),
            f"127.0.0.1:{grpc_options['port']}",
        )


def test_the_certificate_is_checked_and_plain_http_is_not_served(secured: Secured) -> None:
    port = secured.client.base_url.port
    with httpx2.Client(timeout=10) as stranger:
        with pytest.raises(httpx2.ConnectError):
            stranger.get(f"https://127.0.0.1:{port}/v2/health/live")
        with pytest.raises(httpx2.HTTPError):
            stranger.get(f"http://127.0.0.1:{port}/v2/health/live")


def test_every_path_asks_for_the_key_that_it_needs(secured: Secured) -> None:
    asked: list[tuple[str, str, str, dict[str, Any]]] = [
        ("infer", "POST", INFER, {"json": GOOD}),
        ("infer", "POST", "/v2/models/toy/versions/1/infer", {"json": GOOD}),
        ("observe", "GET", "/accord/status", {}),
        ("observe", "GET", "/accord/plan", {}),
        ("observe", "GET", "/openapi.json", {}),
        ("admin", "POST", "/accord/plan/simulate", {"json": {"load_qps": {"toy": 5}}}),
    ]
    for role, method, path, content in asked:
        nobody = secured.send(None, method, path, **content)
        assert (nobody.status_code, nobody.json()["reason"]) == (401, "Unauthenticated")
        assert nobody.headers["www-authenticate"].startswith("Bearer")
        for name, key in secured.keys.items():
            response = secured.send(key, method, path, **content)
            assert response.status_code == (200 if name == role else 403), (role, path, response.text)
    assert secured.client.get("/v2/health/live").status_code == 200


def test_calls_over_grpc_ask_for_the_same_keys(secured: Secured) -> None:
    x = {"name": "x", "datatype": "FP32", "shape": [2], "contents": {"fp32_contents": [1.0, 2.0]}}
    query = pb.ModelInferRequest(model_name="toy", inputs=[x])
    with grpc.insecure_channel(secured.grpc_address) as channel:
        stub = GRPCInferenceServiceStub(channel)
        calls: list[tuple[set[str], Any, Any]] = [
            ({"infer"}, stub.ModelInfer, query),
            ({"infer", "observe"}, stub.ServerMetadata, pb.ServerMetadataRequest()),
            ({"infer", "observe"}, stub.ModelConfig, pb.ModelConfigRequest(name="toy")),
            ({"observe"}, stub.ModelStatistics, pb.ModelStatisticsRequest()),
        ]
        assert stub.ServerLive(pb.ServerLiveRequest(), timeout=30).live
        assert HealthStub(channel).Check(HealthCheckRequest(), timeout=30).status == HealthCheckResponse.SERVING
        for roles, call, message in calls:
            assert refused(call, message, ()) is grpc.StatusCode.UNAUTHENTICATED
            for name, key in secured.keys.items():
                metadata = (("authorization", f"Bearer {key}"),)
                if name in roles:
                    call(message, metadata=metadata, timeout=30)
                else:
                    assert refused(call, message, metadata) is grpc.StatusCode.PERMISSION_DENIED, name
        for name in ("infer", "observe"):
            unload = pb.RepositoryModelUnloadRequest(model_name="good")
            metadata = (("x-api-key", secured.keys[name]),)
            assert refused(stub.RepositoryModelUnload, unload, metadata) is grpc.StatusCode.PERMISSION_DENIED
        answer = stub.ModelInfer(query, metadata=(("authorization", f"Bearer {secured.token()}"),), timeout=30)
        assert list(answer.outputs[0].contents.fp32_contents) == [2.0, 4.0]


def refused(call: Any, message: Any, metadata: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as error:
        call(message, metadata=metadata, timeout=30)
    code = error.value.code()
    assert isinstance(code, grpc.StatusCode)
    assert error.value.details()
    return code


def test_a_token_is_taken_until_it_expires(secured: Secured) -> None:
    assert secured.send(secured.token(), "POST", INFER, json=GOOD).status_code == 200
    assert secured.send(secured.token(exp=1), "POST", INFER, json=GOOD).status_code == 401
    assert secured.send(secured.token(roles=["observe"]), "POST", INFER, json=GOOD).status_code == 403


def test_paths_written_otherwise_get_by_nowhere(secured: Secured) -> None:
    for path in ("//v2/models/toy/infer", "/v2/models/toy/%69nfer", "/V2/models/toy/infer", "/accord//variants"):
        response = secured.client.post(path, json=GOOD)
        assert response.status_code in (401, 404)
        assert "outputs" not in response.text


def test_a_key_that_is_replaced_is_good_no_longer_and_nothing_restarts(secured: Secured) -> None:
    old, new = secured.keys["infer"], new_key()
    secret_file(secured.folder, new, "infer")
    until(lambda: secured.send(old, "POST", INFER, json=GOOD).status_code == 401)
    assert secured.send(new, "POST", INFER, json=GOOD).status_code == 200
    secured.keys["infer"] = new


def test_a_variant_is_registered_from_beside_the_catalogue_and_from_nowhere_else(
    secured: Secured, tmp_path: Path
) -> None:
    tensor = {"datatype": "FP32", "shape": [-1]}
    described = {
        "name": "another",
        "task": "toy",
        "runtime": "onnx",
        "artifact": {"uri": "another.onnx"},
        "accuracy": 0.5,
        "inputs": [{"name": "x", **tensor}],
        "outputs": [{"name": "y", **tensor}],
    }
    for folder in (secured.folder, tmp_path):
        shutil.copy(secured.folder / "good.onnx", folder / "another.onnx")
    (secured.folder / "link.onnx").symlink_to(tmp_path / "another.onnx")
    admin = secured.keys["admin"]
    for uri in (f"{tmp_path}/another.onnx", "../another.onnx", "link.onnx", "http://169.254.169.254/x", "s3://b/x"):
        response = secured.send(admin, "POST", "/accord/variants", json=described | {"artifact": {"uri": uri}})
        assert (response.status_code, response.json()["reason"]) == (403, "Forbidden"), response.text
    response = secured.send(admin, "POST", "/accord/variants", json=described)
    assert response.status_code == 201, response.text


def test_nothing_that_is_logged_or_reported_has_a_key(secured: Secured) -> None:
    status = secured.send(secured.keys["observe"], "GET", "/accord/status").text
    plan = secured.send(secured.keys["observe"], "GET", "/accord/plan").text
    import ray

    logs = Path(ray._private.worker._global_node.get_logs_dir_path())
    written = "".join(file.read_text(errors="replace") for file in logs.rglob("*") if file.is_file())
    assert len(written) > 1000
    for key in secured.keys.values():
        assert key not in status + plan + written


def test_a_service_that_others_would_reach_does_not_come_up_without_keys(
    secured: Secured, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The routers look themselves, since `serve run` knows nothing of it."""
    serve.shutdown()
    serve.start(http_options={"host": "0.0.0.0", "port": free_port})
    config = AppConfig.model_validate(
        {
            "catalogue": str(secured.folder / "catalogue.yaml"),
            "profiles": {"cpu": str(secured.folder / "profiles.csv")},
            "endpoints": {"toy": {"task": "toy", "slo_ms": 1000, "selection": {"policy": "greedy"}}},
            "pools": {"cpu": {"workers": 1, "num_cpus": 0.1}},
            "router_num_cpus": 0.1,
        }
    )
    with pytest.raises(RuntimeError):
        serve.run(build(config.model_dump()), name="exposed", route_prefix="/")
    states = serve.status().applications["exposed"]
    assert "http_options.host is '0.0.0.0'" in str(states.deployments["Router"].message)
