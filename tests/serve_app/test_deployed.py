"""A Ray cluster of two machines, started and deployed to as docs/clusters.md says, with the config for Kubernetes."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from security_scene import new_key, secret_file
from two_machines import Machine, two_machines

from chaos.services.apart import why_no_namespaces

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

MANIFEST = Path(__file__).parents[2] / "configs/kubernetes/rayservice.yaml"
START = 'unset RAY_AUTH_MODE; eval "$(accord env)"; exec ray start --block'
UNTIL = """
import sys, time, urllib.request
url, wanted, end_s = sys.argv[1], sys.argv[2], time.monotonic() + float(sys.argv[3])
while True:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            body = answer.read().decode()
        if wanted in body:
            print(body)
            break
    except OSError as error:
        body = str(error)
    if time.monotonic() > end_s:
        sys.exit(body)
    time.sleep(0.5)
"""
UP_S, READY_S = 90.0, 200.0
DRAINING_S = 500.0
"""Serve keeps a router that it stops for so long; the tests are over before that."""


@dataclass(frozen=True)
class Deployed:
    """The head runs no replica, the other machine all of them; ``keys`` are files by the client's name."""

    head: Machine
    other: Machine
    env: dict[str, str]
    keys: dict[str, str]
    folder: Path

    def status(self) -> dict[str, Any]:
        return self.accord(self.head, "operators", "status")

    def accord(self, where: Machine, key: str, *arguments: str) -> dict[str, Any]:
        """The JSON of a command that asks the proxy of a machine."""
        words = ["accord", "--api-key-file", self.keys[key], *arguments, "--url", f"http://{where.address}:8000"]
        told: dict[str, Any] = json.loads(self.head.run(" ".join([*words, "--json"]), self.env))
        return told


def until(machine: Machine, url: str, wanted: str, seconds: float, env: dict[str, str]) -> str:
    """The body of a page, seen from a machine, once it has what is wanted in it."""
    return machine.run(f"python -c '{UNTIL}' {url} {wanted} {seconds}", env, seconds + 60)


@pytest.fixture(scope="module")
def deployed(ray_folder: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    if why := why_no_namespaces():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("deployed")
    keys = {name: secret_file(folder, new_key(), name) for name in ("clients", "operators")}
    served = next(yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8")))["spec"]["serveConfigV2"]
    (folder / "serve.yaml").write_text(served.replace("/etc/accord", str(folder)), encoding="utf-8")
    changed = (folder / "serve.yaml").read_text(encoding="utf-8").replace("slo_ms: 100", "slo_ms: 200")
    (folder / "changed.yaml").write_text(changed, encoding="utf-8")
    sockets = {
        "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": f"{ray_folder}/haproxy.cfg",
        "RAY_SERVE_HAPROXY_SOCKET_PATH": f"{ray_folder}/admin.sock",
        "RAY_SERVE_HAPROXY_METRICS_SOCKET_PATH": f"{ray_folder}/metrics.sock",
        "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": ray_folder,
        "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": f"{ray_folder}/server-state",
    }
    draining = {"RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": f"{DRAINING_S}"}
    env = {**sockets, **draining, "RAY_TMPDIR": ray_folder, "RAY_AUTH_TOKEN": new_key(), "RAY_AUTH_MODE": "token"}
    with two_machines() as (head, other), ExitStack() as nodes:
        dashboard = f"http://{head.address}:8265"
        start = f"{START} --head --node-ip-address {head.address} --dashboard-host {head.address} --num-cpus 0"
        nodes.enter_context(head.running(start, env, folder / "head.log"))
        until(head, f"{dashboard}/api/gcs_healthz", "success", UP_S, env)
        start = f"{START} --address {head.address}:6379 --node-ip-address {other.address} --num-cpus 16"
        nodes.enter_context(other.running(start, env, folder / "other.log"))
        head.run(f"serve deploy {folder}/serve.yaml -a {dashboard}", env)
        for machine in (head, other):
            until(head, f"http://{machine.address}:8000/v2/health/ready", "true", READY_S, env)
        yield Deployed(head, other, env, keys, folder)


def test_every_machine_answers_who_has_a_key(deployed: Deployed) -> None:
    for machine in (deployed.head, deployed.other):
        answer = deployed.accord(machine, "clients", "query", "--endpoint", "digits")
        assert answer["variant"].startswith("digits-")
        with pytest.raises(AssertionError, match="401"):
            machine.run(f"accord query --url http://{machine.address}:8000", deployed.env)


def test_the_probe_of_kuberay_finds_a_proxy_where_replicas_are(deployed: Deployed) -> None:
    """It looks for this word on the machine itself, without a key."""
    assert until(deployed.other, "http://localhost:8000/-/healthz", "success", 30.0, deployed.env).strip() == "success"


def test_operators_see_all_workers_where_they_stand(deployed: Deployed) -> None:
    end_s = time.monotonic() + READY_S  # it is ready with the first of them
    while len(workers := deployed.status()["workers"]) < 4:
        assert time.monotonic() < end_s, workers
    assert {worker["pool"] for worker in workers.values()} == {"cpu"}
    assert len({worker["node"] for worker in workers.values()}) == 1


def test_routers_that_are_replaced_hand_their_workers_over_while_they_are_drained(
    deployed: Deployed,
) -> None:
    before = set(deployed.status()["routers"])
    dashboard = f"http://{deployed.head.address}:8265"
    deployed.head.run(f"serve deploy {deployed.folder}/changed.yaml -a {dashboard}", deployed.env)
    end_s = time.monotonic() + READY_S
    while True:
        status = deployed.status()
        if len(set(status["routers"]) - before) == 2 and len(status["workers"]) == 4:
            break
        assert time.monotonic() < end_s, (before, status["routers"], list(status["workers"]))
    assert status["endpoints"]["digits"]["slo_ms"] == 200
