"""Real worker processes that die, hang and stop under real queries: what every query gets, and what becomes of them."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
import ray
import yaml
from http_scene import toy, until
from ray import serve

import fatal_runtime
from fatal_runtime import HANGS, KILLS
from serve_app.config.schema import AppConfig
from serve_app.main import build
from toy_models import write_toy_catalogue

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

WORKERS = 3
INFER = "/v2/models/toy/infer"


@pytest.fixture(scope="module")
def client(free_port: int, tmp_path_factory: pytest.TempPathFactory, ray_folder: str) -> Iterator[httpx2.Client]:
    """One endpoint, whose only variant has a fatal fault, on three workers."""
    folder = tmp_path_factory.mktemp("faults")
    ray.init(
        address="local",
        num_cpus=16,
        include_dashboard=False,
        log_to_driver=False,
        _temp_dir=ray_folder,
        runtime_env={
            "worker_process_setup_hook": "fatal_runtime.install",
            "env_vars": {"PYTHONPATH": os.pathsep.join([*map(str, _paths()), os.environ.get("PYTHONPATH", "")])},
        },
    )
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": free_port})
        serve.run(build(_app(folder)), name="faults", route_prefix="/")
        with httpx2.Client(base_url=f"http://127.0.0.1:{free_port}", timeout=60) as made:
            until(lambda: made.get("/v2/health/ready").status_code == 200)
            until(lambda: len(workers(made)) == WORKERS)
            yield made
        serve.shutdown()
    finally:
        ray.shutdown()


def _paths() -> list[Path]:
    support = Path(fatal_runtime.__file__).parent
    return [support, support.parents[1]]


def _app(folder: Path) -> dict[str, Any]:
    path = write_toy_catalogue(folder)
    catalogue = yaml.safe_load(path.read_text())
    catalogue["variants"] = [
        each | {"runtime": fatal_runtime.NAME} for each in catalogue["variants"] if each["name"] == "good"
    ]
    path.write_text(yaml.safe_dump(catalogue))
    config = {
        "catalogue": str(path),
        "profiles": {"cpu": str(folder / "profiles.csv")},
        "endpoints": {"toy": {"task": "toy", "slo_ms": 20_000, "selection": {"policy": "greedy"}}},
        "pools": {"toy": {"workers": WORKERS, "num_cpus": 0.1}},
        "router_num_cpus": 0.1,
        "controller": {"state": str(folder / "state.db")},
    }
    return AppConfig.model_validate(config).model_dump()


def workers(client: httpx2.Client) -> dict[str, Any]:
    seen = client.get("/accord/status").json()["workers"]
    assert isinstance(seen, dict)
    return seen


def events(client: httpx2.Client) -> dict[str, int]:
    counts = client.get("/accord/status").json()["worker_events"]["counts"]
    assert isinstance(counts, dict)
    return counts


class Crowd:
    """Clients that ask good questions, one after the other, until the block ends; all must have been answered."""

    def __init__(self, client: httpx2.Client, clients: int = 4) -> None:
        self._url = client.base_url
        self._over = threading.Event()
        self._threads = ThreadPoolExecutor(clients)
        self._clients = clients
        self._asking: list[Future[int]] = []

    def __enter__(self) -> "Crowd":
        self._asking = [self._threads.submit(self._ask, number) for number in range(self._clients)]
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        assert sum(asking.result() for asking in self._asking) > 0
        self._threads.shutdown()

    def _ask(self, number: int) -> int:
        asked = 0
        with httpx2.Client(base_url=self._url, timeout=60) as own:
            while not self._over.is_set():
                response = own.post(INFER, json=toy(float(number)))
                assert response.status_code == 200, response.text
                assert response.json()["outputs"][0]["data"] == [2.0 * number]
                asked += 1
        return asked


def all_back(client: httpx2.Client) -> None:
    until(lambda: len(workers(client)) == WORKERS, within_s=120)


def test_workers_that_are_killed_cost_no_query(client: httpx2.Client) -> None:
    with Crowd(client):
        for _ in range(3):
            before = workers(client)
            victim = next(iter(before))
            os.kill(before[victim]["pid"], signal.SIGKILL)
            until(lambda victim=victim: victim not in workers(client))  # type: ignore[misc]
        all_back(client)


def test_a_query_that_kills_is_refused_after_two_deaths_and_costs_no_other_query(client: httpx2.Client) -> None:
    all_back(client)
    before, died = {worker["pid"] for worker in workers(client).values()}, events(client)["died"]
    with Crowd(client):
        refused = client.post(INFER, json=toy(KILLS))
        assert refused.status_code == 422
        assert refused.json()["reason"] == "PoisonQuery"
        assert refused.json()["retryable"] is False
        assert "2 workers died while they ran this query" in refused.json()["error"]
        assert events(client)["died"] == died + 2
        all_back(client)
    assert len(before & {worker["pid"] for worker in workers(client).values()}) == WORKERS - 2


def test_a_stopped_worker_is_given_up_and_used_again_once_it_goes_on(client: httpx2.Client) -> None:
    all_back(client)
    seen = events(client)
    victim, worker = next(iter(workers(client).items()))
    with Crowd(client):
        os.kill(worker["pid"], signal.SIGSTOP)
        try:
            until(lambda: events(client)["does not answer"] == seen["does not answer"] + 1, within_s=15)
        finally:
            os.kill(worker["pid"], signal.SIGCONT)
        until(lambda: victim in workers(client), within_s=20)
        assert events(client)["answers again"] == seen["answers again"] + 1


def test_a_query_that_hangs_is_refused_after_two_workers_which_serve_replaces(client: httpx2.Client) -> None:
    all_back(client)
    hung, before = events(client)["does not answer"], set(workers(client))
    with Crowd(client):
        refused = client.post(INFER, json=toy(HANGS))
        assert refused.status_code == 503
        assert refused.json()["reason"] == "WorkerLost"
        assert "did not answer while it ran the query's batch" in refused.json()["error"]
        assert events(client)["does not answer"] == hung + 2
        all_back(client)
    assert len(before & set(workers(client))) == WORKERS - 2
