"""The controller on a real cluster, deployed by config as users do it: plans under load, faults, changes in passing."""

import json
import os
import signal
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import ray
from ray import serve
from ray.util.state import list_actors

from catalog.catalogue import load_catalogue
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.zoo.digits import held_out
from deployments.worker.measure import measured_profiles

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SLO_MS = 2000
"""What is tested is that nothing is lost, on machines of any speed."""


@dataclass
class Service:
    """The application on its cluster, and what tests do to it."""

    client: httpx2.Client
    dashboard: str
    config: dict[str, Any]

    def deploy(self, **user_config: Any) -> None:
        """What ``serve deploy`` of the config with other settings for the controller does."""
        self.config["applications"][0]["deployments"][0]["user_config"] = user_config
        request = urllib.request.Request(
            f"{self.dashboard}/api/serve/applications/",
            json.dumps(self.config).encode(),
            {"Content-Type": "application/json"},
            method="PUT",
        )
        with urllib.request.urlopen(request) as response:
            assert response.status == 200

    def plan(self) -> dict[str, Any]:
        response = self.client.get("/accord/plan")
        return response.json() if response.status_code == 200 else {"decision": None, "pools": {"cpu": {}}}

    def plans(self) -> list[dict[str, Any]]:
        return self.client.get("/accord/plans").json()["plans"]

    def holders(self) -> dict[str, list[str]]:
        """Worker to the variants that it holds by the plan in force."""
        decision = self.plan()["decision"]
        return {} if decision is None else decision["plan"]["held"]

    def infer(self, endpoint: str = "digits") -> httpx2.Response:
        image = held_out()[0][0].ravel().tolist()
        tensor = {"name": "image", "shape": [1, 12, 12], "datatype": "FP32", "data": image}
        return self.client.post(f"/v2/models/{endpoint}/infer", json={"inputs": [tensor]})


@dataclass
class Load:
    """Queries to both endpoints in turn, for as long as it is entered."""

    service: Service
    threads: int = 2
    statuses: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def __enter__(self) -> "Load":
        self._stop = threading.Event()
        self._running = [threading.Thread(target=self._send, args=(number,)) for number in range(self.threads)]
        for thread in self._running:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._running:
            thread.join()

    def _send(self, number: int) -> None:
        while not self._stop.wait(0.005):
            response = self.service.infer(("digits", "urgent")[number % 2])
            self.statuses[response.status_code] += 1
            if response.status_code != 200:
                self.errors.append(response.text)

    def lost_nothing(self) -> bool:
        assert self.errors == []
        return self.statuses[200] > 20


def until(holds: Callable[[], Any], within_s: float = 60.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline_s, f"not so within {within_s} s"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def service(
    free_port: int, free_ports: list[int], tmp_path_factory: pytest.TempPathFactory, ray_folder: str
) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("controlled")
    catalogue = load_catalogue("builtin")
    measured = measured_profiles(catalogue.of_task("digits"), catalogue.root, "cpu", 1, budget_s=0.3)
    rows = {v.name: ProfiledVariant(v.accuracy_pct, measured[v.name]) for v in catalogue.of_task("digits")}
    write_profiles(folder / "digits.csv", rows)
    endpoint = {"task": "digits", "slo_ms": SLO_MS, "selection": {"policy": "adaptive_batching"}}
    args = {
        "profiles": {"cpu": str(folder / "digits.csv")},
        "endpoints": {"digits": endpoint, "urgent": endpoint},
        "pools": {"cpu": {"workers": 2, "num_cpus": 0.1}},
        "routers": 2,
        "router_num_cpus": 0.1,
        "artifacts": {"allowed": [str(tmp_path_factory.getbasetemp())]},
        "controller": {
            "planner": "proteus",
            "interval_s": 3600,
            "state": str(folder / "state.db"),
            "forecast": {"model": "linear", "horizon_s": 15},
        },
    }
    application = {
        "name": "accord",
        "route_prefix": "/",
        "import_path": "serve_app.main:build",
        "args": args,
        "deployments": [{"name": "Controller", "user_config": {}}],
    }
    ray.init(
        address="local",
        num_cpus=16,
        include_dashboard=True,
        dashboard_port=free_ports[0],
        log_to_driver=False,
        _temp_dir=ray_folder,
    )
    serve.start(http_options={"host": "127.0.0.1", "port": free_port})
    config = {"http_options": {"host": "127.0.0.1", "port": free_port}, "applications": [application]}
    with httpx2.Client(base_url=f"http://127.0.0.1:{free_port}", timeout=60) as client:
        made = Service(client, f"http://127.0.0.1:{free_ports[0]}", config)
        made.deploy()
        until(lambda: client.get("/v2/health/ready").status_code == 200 and len(made.holders()) == 2, 120)
        yield made
    serve.shutdown()
    ray.shutdown()


def _replica_pids(deployment: str) -> dict[str, int]:
    """Actor name to process of the replicas that are alive."""
    actors = list_actors(filters=[("state", "=", "ALIVE")], limit=1000)
    return {a.name: a.pid for a in actors if a.name.startswith(f"SERVE_REPLICA::accord#{deployment}#")}


def test_every_worker_has_a_place_and_each_router_workers_of_its_own(service: Service) -> None:
    until(lambda: len({state["router"] for state in _status(service)["workers"].values()}) == 2)
    workers = _status(service)["workers"]
    assert {worker: state["loaded"] for worker, state in workers.items()} == service.holders()
    assert service.plan()["planner"] == "proteus"
    assert {each["model"] for each in service.plan()["forecast"].values()} == {"moving_maximum"}  # no history yet
    assert service.infer("digits").status_code == service.infer("urgent").status_code == 200


def _status(service: Service) -> dict[str, Any]:
    return service.client.get("/accord/status").json()


def test_the_controller_dies_under_load_and_another_one_goes_on_where_it_was(service: Service) -> None:
    before = service.plan()["version"]
    (pid,) = _replica_pids("Controller").values()
    with Load(service) as load:
        until(lambda: load.statuses[200] > 20)
        os.kill(pid, signal.SIGKILL)
        until(lambda: (service.plan()["decision"] or {}).get("reason") == "a controller took over")
        sent = load.statuses[200]
        until(lambda: load.statuses[200] > sent + 20)
    assert load.lost_nothing()
    assert service.plan()["version"] > before
    assert before in [decision["version"] for decision in service.plans()], "it remembers what the other one decided"
    assert list(_replica_pids("Controller").values()) != [pid]


def test_pools_grow_and_shrink_under_load_without_losing_a_query(service: Service) -> None:
    with Load(service) as load:
        for workers in (4, 1, 2):
            service.deploy(pools={"cpu": {"workers": workers}})
            until(lambda workers=workers: service.plan()["pools"]["cpu"].get("workers") == workers)  # type: ignore[misc]
            until(lambda workers=workers: len(service.holders()) == workers)  # type: ignore[misc]
            sent = load.statuses[200]
            until(lambda sent=sent: load.statuses[200] > sent + 20)  # type: ignore[misc]
    assert load.lost_nothing()


def test_a_deployed_change_of_objective_restarts_nobody(service: Service) -> None:
    processes = {name: _replica_pids(name) for name in ("Controller", "Router", "cpu")}
    service.deploy(pools={"cpu": {"workers": 2}}, endpoints={"digits": {"slo_ms": 1234}})
    until(lambda: service.plan().get("slo_ms", {}).get("digits") == 1234)
    until(lambda: _status(service)["endpoints"]["digits"]["slo_ms"] == 1234)
    parameters = service.client.get("/v2/models/digits").json()["parameters"]
    assert parameters["slo_ms"] == 1234
    assert processes == {name: _replica_pids(name) for name in processes}
    assert service.infer("digits").status_code == 200


def test_a_deployed_change_that_is_not_right_changes_nothing_and_is_told(service: Service) -> None:
    processes = _replica_pids("Controller")
    service.deploy(pools={"cpus": {"workers": 2}})
    until(lambda: "cpus" in (service.plan().get("refused_config") or ""))
    assert service.plan()["slo_ms"]["digits"] == 1234
    service.deploy(pools={"cpu": {"workers": 2}}, endpoints={"digits": {"slo_ms": 1234}})
    until(lambda: "refused_config" in service.plan() and service.plan()["refused_config"] is None)
    assert processes == _replica_pids("Controller")
    assert service.infer("digits").status_code == 200


def test_a_variant_is_registered_measured_and_then_planned_with(service: Service) -> None:
    catalogue = load_catalogue("builtin")
    best = max(catalogue.of_task("digits"), key=lambda variant: variant.accuracy)
    source = Path(catalogue.root) / best.artifact.uri
    described = {
        "name": "digits-newcomer",
        "task": "digits",
        "runtime": best.runtime,
        "artifact": {"uri": str(source)},
        "accuracy": 0.999,
        "inputs": [spec.oip() for spec in best.inputs],
        "outputs": [spec.oip() for spec in best.outputs],
        "labels": list(best.labels),
    }
    with Load(service) as load:
        response = service.client.post("/accord/variants", json=described)
        assert response.status_code == 201, response.text
        assert min(response.json()["profiles"]["cpu"]["p95_ms"]) > 0
        until(lambda: any("digits-newcomer" in held for held in service.holders().values()))
    assert load.lost_nothing()
    until(lambda: service.infer("digits").json()["parameters"]["variant"] == "digits-newcomer")
    again = service.client.post("/accord/variants", json=described)
    assert again.status_code == 400
    assert "digits-newcomer" in again.json()["error"]
    with Load(service) as load:
        assert service.client.delete("/accord/variants/digits-newcomer").json() == {"variant": "digits-newcomer"}
        until(lambda: not any("digits-newcomer" in held for held in service.holders().values()))
        until(lambda: load.statuses[200] > 20)
    assert load.lost_nothing()
    assert service.client.delete("/accord/variants/digits-newcomer").status_code == 400


def test_what_cannot_be_served_is_refused_in_words(service: Service, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"this is no model")
    best = load_catalogue("builtin").variants[0]
    described = {
        "name": "broken",
        "task": "digits",
        "runtime": "onnx",
        "artifact": {"uri": str(broken)},
        "accuracy": 0.5,
        "inputs": [spec.oip() for spec in best.inputs],
        "outputs": [spec.oip() for spec in best.outputs],
        "labels": list(best.labels),
    }
    response = service.client.post("/accord/variants", json=described)
    assert response.status_code == 400
    assert "broken" in response.json()["error"]
    other = service.client.post("/accord/variants", json=described | {"name": "other", "task": "sentiment"})
    assert other.status_code == 400
    assert "sentiment" in other.json()["error"]


def test_the_planner_answers_what_it_would_do_and_changes_nothing(service: Service) -> None:
    before = service.plan()["version"]
    response = service.client.post("/accord/plan/simulate", json={"load_qps": {"digits": 1e6}})
    assert response.status_code == 200
    assert response.json()["plan"]["served_qps"]["digits"] < 1e6
    assert service.plan()["version"] == before
    unknown = service.client.post("/accord/plan/simulate", json={"load_qps": {"nope": 1}})
    assert unknown.status_code == 400
    assert "nope" in unknown.json()["error"]


def test_a_router_dies_and_its_workers_serve_others(service: Service) -> None:
    pids = _replica_pids("Router")
    victim = sorted(pids)[0]
    os.kill(pids[victim], signal.SIGKILL)
    name = victim.rpartition("#")[2]

    def healed() -> bool:
        try:
            body = _status(service)
        except (httpx2.HTTPError, json.JSONDecodeError):
            return False
        routers = {state["router"] for state in body["workers"].values()}
        return len(body["workers"]) == 2 and len(body["routers"]) == 2 and name not in routers

    until(healed)
    assert service.infer("digits").status_code == 200
