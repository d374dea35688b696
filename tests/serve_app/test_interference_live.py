"""A predictor of slowdowns on a real cluster: workers of one node, what the plan reckons with, what is measured."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import ray
from ray import serve

from catalog.catalogue import load_catalogue
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.zoo.digits import held_out
from run_scene import accord
from serve_app.main import build
from slowdown_model_scene import MACHINE, TRIPLE, saved_model

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

WORKERS = 3
RUN_MS = 10.0
FACTOR = 3.0
"""How many times the profiled latency emulated runs take: far more than is predicted beside two others, so that what a
slow machine adds takes the two further apart."""


@dataclass
class Service:
    url: str
    client: httpx2.Client

    def plan(self) -> dict[str, Any]:
        response = self.client.get("/accord/plan")
        return response.json() if response.status_code == 200 else {"decision": None}

    def workers(self) -> dict[str, Any]:
        return self.client.get("/accord/status").json()["workers"]

    def infer(self, _: int = 0) -> int:
        image = held_out()[0][0].ravel().tolist()
        tensor = {"name": "image", "shape": [1, 12, 12], "datatype": "FP32", "data": image}
        return self.client.post("/v2/models/digits/infer", json={"inputs": [tensor]}).status_code


def until(holds: Callable[[], Any], within_s: float = 60.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline_s, f"not so within {within_s} s"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def service(free_port: int, tmp_path_factory: pytest.TempPathFactory, ray_folder: str) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("interference")
    variants = load_catalogue("builtin").of_task("digits")
    profile = LatencyProfile("cpu", {n: BatchLatency(9, RUN_MS, 0, *[RUN_MS] * 4) for n in (1, 64)})
    write_profiles(folder / "cpu.csv", {v.name: ProfiledVariant(v.accuracy_pct, profile) for v in variants})
    (folder / "factors.json").write_text(json.dumps(FACTOR))
    model = saved_model(folder / "slowdowns.safetensors", [v.name for v in variants])
    args = {
        "profiles": {"cpu": str(folder / "cpu.csv")},
        "endpoints": {"digits": {"task": "digits", "slo_ms": 2000, "selection": {"policy": "adaptive_batching"}}},
        "pools": {"cpu": {"workers": WORKERS, "num_cpus": 0.1, "machine": MACHINE}},
        "router_num_cpus": 0.1,
        "warm_up_s": 0,
        "emulate": {"distribution": "fixed", "factor_file": str(folder / "factors.json")},
        "controller": {
            "planner": "proteus",
            "interval_s": 3,
            "state": str(folder / "state.db"),
            "interference": {"model": str(model)},
        },
    }
    ray.init(
        address="local",
        num_cpus=16,
        include_dashboard=False,
        log_to_driver=False,
        _temp_dir=ray_folder,
    )
    serve.start(http_options={"host": "127.0.0.1", "port": free_port})
    serve.run(build(args), name="accord", route_prefix="/")
    url = f"http://127.0.0.1:{free_port}"
    with httpx2.Client(base_url=url, timeout=60) as client:
        made = Service(url, client)
        until(lambda: client.get("/v2/health/ready").status_code == 200 and len(made.workers()) == WORKERS, 120)
        until(lambda: len((made.plan()["decision"] or {"neighbours": []})["neighbours"]) == WORKERS)
        yield made
    serve.shutdown()
    ray.shutdown()


def test_the_plan_reckons_with_what_workers_of_the_node_do_to_each_other(service: Service) -> None:
    seen = accord("plan", "show", "--url", service.url)
    decision = seen["decision"]
    assert seen["interference"]["model"] == "slowdowns.safetensors"
    assert {each["worker"] for each in decision["neighbours"]} == service.workers().keys()
    for each in decision["neighbours"]:
        assert each["machine"] == MACHINE
        assert each["predicted"] == pytest.approx(TRIPLE, abs=0.02)
        assert decision["plan"]["slowdowns"][each["worker"]][each["variant"]] == each["reckoned"]
        assert len(each["beside"]) == WORKERS - 1
    assert any("Predicted slowdown" in words for words in decision["plan"]["report"]["explanation"])


def test_routers_know_the_prediction_and_set_beside_it_what_they_measure(service: Service) -> None:
    def measured() -> bool:
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(service.infer, range(40))) == {200}
        return all(
            any(each["batches"] > 20 for each in worker["slowdowns"].values()) for worker in service.workers().values()
        )

    until(measured)
    for worker in accord("status", "--url", service.url)["workers"].values():
        assert worker["machine"] == MACHINE
        seen = [each for each in worker["slowdowns"].values() if each["measured"] is not None]
        assert all(each["measured"] > 0.95 * FACTOR for each in seen), "an emulated run takes no less"
        assert all(each["predicted"] > 1.0 for each in seen)


def test_what_is_measured_corrects_the_predictions_of_plans_to_come(service: Service) -> None:
    def corrected() -> bool:
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(service.infer, range(40))) == {200}
        plan = service.plan()
        return bool(plan["interference"]["corrections"]) and any(
            abs(each["reckoned"] / each["predicted"] - 1.0) > 0.04 for each in plan["decision"]["neighbours"]
        )

    until(corrected, 150.0)
    seen = service.plan()["interference"]["corrections"]
    assert {each["machine"] for each in seen} == {MACHINE}
    assert all(each["batches"] > 0 for each in seen)
