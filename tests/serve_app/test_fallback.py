"""A burst between two plans on a real cluster of emulated workers: fallback variants answer, then the planned one."""

import time
from collections import Counter
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
from serve_app.main import build

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SLO_MS = 400
ROW_MS = {"digits-cnn-xl": 40.0, "digits-cnn-s": 10.0, "digits-mlp": 1.0}
"""What each row of a batch takes. The planned variant, the first, bears 24 queries a second, ten of them at once."""

BURST = 20
"""Queries at once: twice what the planned variant serves in time. It bears so many a second, so that a plan for them is
the same."""


@dataclass
class Service:
    """The application on its cluster."""

    client: httpx2.Client

    def decision(self) -> dict[str, Any]:
        response = self.client.get("/accord/plan")
        return (response.json()["decision"] if response.status_code == 200 else None) or {"plan": {"held": {}}}

    def loaded(self) -> set[str]:
        workers = self.client.get("/accord/status").json()["workers"].values()
        return {variant for worker in workers for variant in worker["loaded"]}

    def infer(self, _: int = 0) -> str:
        """The variant that answered, or the status where none did."""
        image = held_out()[0][0].ravel().tolist()
        tensor = {"name": "image", "shape": [1, 12, 12], "datatype": "FP32", "data": image}
        response = self.client.post("/v2/models/digits/infer", json={"inputs": [tensor]})
        return response.json()["parameters"]["variant"] if response.status_code == 200 else str(response.status_code)


def until(holds: Callable[[], Any], within_s: float = 60.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline_s, f"not so within {within_s} s"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def service(free_port: int, tmp_path_factory: pytest.TempPathFactory, ray_folder: str) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("fallback")
    rows = {}
    for variant in load_catalogue("builtin").of_task("digits"):
        ms = ROW_MS.get(variant.name, 1e4)  # the others are never in time
        profile = LatencyProfile("cpu", {n: BatchLatency(9, n * ms, 0, *[n * ms] * 4) for n in (1, 64)})
        rows[variant.name] = ProfiledVariant(variant.accuracy_pct, profile)
    write_profiles(folder / "cpu.csv", rows)
    args = {
        "profiles": {"cpu": str(folder / "cpu.csv")},
        "endpoints": {"digits": {"task": "digits", "slo_ms": SLO_MS, "selection": {"policy": "adaptive_batching"}}},
        "pools": {"cpu": {"workers": 1, "num_cpus": 0.1}},
        "router_num_cpus": 0.1,
        "transport_ms": 5,
        "emulate": {"distribution": "fixed"},
        "controller": {
            "planner": "proteus",
            "proteus": {"fallback": 2, "per_worker": 1},
            "interval_s": 3600,
            "state": str(folder / "state.db"),
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
    with httpx2.Client(base_url=f"http://127.0.0.1:{free_port}", timeout=60) as client:
        made = Service(client)
        until(lambda: client.get("/v2/health/ready").status_code == 200 and made.decision()["plan"]["held"], 120)
        yield made
    serve.shutdown()
    ray.shutdown()


def test_a_burst_is_answered_by_fallback_variants_and_the_planned_one_returns(service: Service) -> None:
    plan = service.decision()["plan"]
    assert list(plan["held"].values()) == [["digits-cnn-xl"]]
    assert list(plan["fallback"].values()) == [["digits-mlp", "digits-cnn-s"]]
    assert plan["burst_qps"]["digits"] > 10 * plan["capacity_qps"]["digits"]
    until(lambda: service.loaded() == set(ROW_MS))
    until(lambda: service.infer() == "digits-cnn-xl")
    answered: Counter[str] = Counter()

    def burst() -> bool:
        time.sleep(2.0)  # what came before counts no more
        with ThreadPoolExecutor(BURST) as pool:
            answered.update(pool.map(service.infer, range(BURST)))
        return bool(answered["digits-mlp"] + answered["digits-cnn-s"])

    until(burst)
    assert answered["digits-cnn-xl"], "the first ones ran as planned"
    assert service.decision()["plan"]["held"] == plan["held"], "no plan had the others but as fallback"
    until(lambda: service.infer() == "digits-cnn-xl")
    assert service.decision()["plan"]["held"] == plan["held"]
