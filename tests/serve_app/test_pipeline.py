"""Pipelines on a real local cluster: shipped and of one's own, planned live, with workers that die."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from http_scene import hammer, kill, until
from ray import serve

from catalog.catalogue import load_catalogue
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.zoo.strips.strips import SEEDS, Strips, sample_strips
from deployments.worker.measure import measured_profiles
from pipeline_functions import LONG
from serve_app.config.schema import AppConfig
from serve_app.main import build

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 4
SLO_MS = 4000
STRIPS: Strips = sample_strips("test", 60, SEEDS["test"])
OWN: dict[str, Any] = {
    "slo_ms": SLO_MS,
    "pipeline": {
        "stages": {
            "find": {"task": "strip-find", "inputs": {"image": "query.image"}},
            "read": {
                "task": "digits",
                "adapter": "pipeline_functions:crop",
                "inputs": {"image": "query.image", "starts": "find.starts"},
                "variants": ["digits-cnn-s", "digits-cnn-m"],
            },
            "reread": {
                "task": "digits",
                "adapter": "pipeline_functions:crop",
                "inputs": {"image": "query.image", "starts": "find.starts"},
                "variants": ["digits-cnn-l"],
                "rows_per_job": 3,
            },
            "check": {
                "task": "strip-check",
                "adapter": "pipeline_functions:mean",
                "inputs": {"starts": "find.starts", "one": "read.probabilities", "other": "reread.probabilities"},
                "when": {"call": "pipeline_functions:long", "inputs": {"starts": "find.starts"}},
            },
        },
        "answer": {
            "adapter": "pipeline_functions:number",
            "inputs": {"starts": "find.starts", "labels": "read.label", "digits": "check.digits"},
        },
    },
}


@pytest.fixture(scope="module")
def importable() -> Iterator[None]:
    """Every process of the cluster finds the functions of the test, as it does those beside a config."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests" / "support"), *([before] if before else [])])
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="module")
def client(
    importable: None, ray_cluster: None, free_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx2.Client]:
    folder, catalogue = tmp_path_factory.mktemp("pipeline"), load_catalogue("builtin")
    shipped = yaml.safe_load((ROOT / "configs" / "pipeline.yaml").read_text())["applications"][0]["args"]
    measured = measured_profiles(catalogue.variants, catalogue.root, "cpu", 1, budget_s=0.2)
    profiles = {v.name: ProfiledVariant(v.accuracy_pct, measured[v.name]) for v in catalogue.variants}
    write_profiles(folder / "profiles.csv", profiles)
    config = AppConfig.model_validate(
        {
            "profiles": {"cpu": str(folder / "profiles.csv")},
            "endpoints": {"strips": shipped["endpoints"]["strips"] | {"slo_ms": SLO_MS}, "own": OWN},
            "pools": {"cpu": {"workers": WORKERS, "num_cpus": 0.1}},
            "router_num_cpus": 0.1,
            "warm_up_s": 0.5,
            "controller": {"planner": "ipa", "interval_s": 2, "state": str(folder / "state.db")},
        }
    )
    serve.start(http_options={"host": "127.0.0.1", "port": free_port})
    serve.run(build(config.model_dump(exclude_unset=True)), name="strips", route_prefix="/")
    with httpx2.Client(base_url=f"http://127.0.0.1:{free_port}", timeout=60) as made:
        until(lambda: made.get("/v2/health/ready").status_code == 200, 90)
        until(lambda: len(made.get("/accord/status").json()["workers"]) == WORKERS)
        yield made


def strips(first: int, count: int = 1, **changes: Any) -> dict[str, Any]:
    images = STRIPS.images[first : first + count]
    tensor = {"name": "image", "shape": list(images.shape), "datatype": "UINT8", "data": images.ravel().tolist()}
    return {"inputs": [tensor | changes]}


def ask(client: httpx2.Client, endpoint: str, body: dict[str, Any]) -> httpx2.Response:
    return client.post(f"/v2/models/{endpoint}/infer", json=body)


def outputs(response: httpx2.Response) -> dict[str, list[Any]]:
    assert response.status_code == 200, response.text
    return {each["name"]: each["data"] for each in response.json()["outputs"]}


def test_strips_are_read_stage_by_stage_and_the_answer_says_how(client: httpx2.Client) -> None:
    right = 0
    for index in range(30):
        response = ask(client, "strips", strips(index))
        right += outputs(response)["label"] == [STRIPS.numbers[index]]
        said = response.json()["parameters"]
        assert [run["stage"] for run in said["stages"]] == ["find", "read", "check"]
        assert said["variant"] == "+".join(f"{run['stage']}:{run['variant']}" for run in said["stages"])
        assert all(
            run["queue_ms"] >= 0 and run["queue_ms"] + run["run_ms"] <= run["latency_ms"] for run in said["stages"]
        )
        assert said["deadline_met"]
    assert right >= 15, "every combination that the planner takes reads most strips"


def test_several_strips_in_one_query_are_answered_one_by_one(client: httpx2.Client) -> None:
    alone = [outputs(ask(client, "strips", strips(index)))["label"][0] for index in range(5)]
    together = outputs(ask(client, "strips", strips(0, 5)))["label"]
    assert len(together) == 5
    assert sum(one == other for one, other in zip(alone, together, strict=True)) >= 4, "variants may change in between"


def test_a_blank_strip_has_no_digits_and_an_answer(client: httpx2.Client) -> None:
    blank = strips(0, data=[0] * STRIPS.images[0].size)
    response = ask(client, "strips", blank)
    assert outputs(response)["label"] == [""]


def test_an_adapter_that_raises_costs_its_query_a_clear_error_and_nobody_else_anything(client: httpx2.Client) -> None:
    blank = strips(0, data=[0] * STRIPS.images[0].size)
    responses = hammer(client, "/v2/models/own/infer", [blank, strips(1), strips(2), strips(3)], threads=4, each=8)
    failed = [response for response in responses if response.status_code != 200]
    assert len(failed) == 8
    for response in failed:
        assert (response.status_code, response.json()["reason"]) == (500, "AdapterFailed")
        assert "pipeline_functions:_crop_written" in response.json()["error"] or "crop" in response.json()["error"]
        assert "LookupError: nothing is written on the strip" in response.json()["error"]


def test_a_condition_routes_and_a_join_waits_for_both_branches(client: httpx2.Client) -> None:
    routed = set()
    right = 0
    for index in range(20):
        response = ask(client, "own", strips(index))
        got = outputs(response)
        ran = {run["stage"]: run for run in response.json()["parameters"]["stages"]}
        jobs = ran["read"]["jobs"]
        assert ran["reread"]["jobs"] == -(-jobs // 3)
        assert got["checked"] == ["check" in ran] == [jobs > LONG]
        routed.add("check" in ran)
        right += got["label"] == [STRIPS.numbers[index]]
    assert routed == {True, False}
    assert right >= 8


def test_the_plan_and_the_status_tell_of_every_stage(client: httpx2.Client) -> None:
    until(lambda: client.get("/accord/plan").json()["decision"] is not None)
    plan = client.get("/accord/plan").json()["decision"]["plan"]
    for endpoint, stages in (("strips", ["find", "read", "check"]), ("own", ["find", "read", "reread", "check"])):
        chosen = plan["stages"][endpoint]
        assert list(chosen) == stages
        holds = {variant for held in plan["held"].values() for variant in held}
        assert all(set(choice["variants"]) <= holds for choice in chosen.values())
        seen = client.get("/accord/status").json()["endpoints"][endpoint]["stages"]
        assert set(seen) == set(stages)
        assert all(stage["workers"] >= 1 for stage in seen.values())
        assert seen["read"]["jobs"] > 3 * seen["read"]["queries"]
        assert seen["find"]["latency_ms"]["p99"] > 0
    metadata = client.get("/v2/models/strips").json()
    assert metadata["parameters"]["stages"] == {"find": "strip-find", "read": "digits", "check": "strip-check"}
    assert [tensor["name"] for tensor in metadata["inputs"]] == ["image"]


def test_a_worker_that_dies_under_load_loses_no_query_and_no_digit(client: httpx2.Client) -> None:
    workers = client.get("/accord/status").json()["workers"]
    victim = next(name for name, state in workers.items() if any(v.startswith("digits-") for v in state["loaded"]))
    killer = threading.Timer(0.5, kill, [victim])
    killer.start()
    began_s = time.monotonic()
    responses = hammer(client, "/v2/models/strips/infer", [strips(index) for index in range(60)], threads=4, each=30)
    killer.join()
    assert time.monotonic() - began_s > 0.5, "the worker died meanwhile"
    assert {response.status_code for response in responses} == {200}
    lengths = [len(outputs(response)["label"][0]) for response in responses]
    wanted = [len(STRIPS.numbers[(first + i) % 60]) for first in range(4) for i in range(30)]
    same = sum(one == other for one, other in zip(lengths, wanted, strict=True))
    assert same >= 0.6 * len(wanted), "every query has all of its own digits"

    def replaced() -> bool:
        now = client.get("/accord/status").json()["workers"]
        return victim not in now and len(now) == WORKERS

    until(replaced, 90)
    assert client.get("/accord/status").json()["endpoints"]["strips"]["rejected"] == 0
    assert ask(client, "strips", strips(0)).status_code == 200
