"""The whole service over HTTP on a real local cluster, in Serve's default mode: answers, faults, losses."""

import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import numpy as np
import pytest
from http_scene import digit, hammer, kill, toy, until
from ray import serve

from catalog.catalogue import load_catalogue
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.zoo.digits import held_out
from deployments.worker.measure import measured_profiles
from dispatch.promise.guarantee import TARGET_RATE
from serve_app.config.schema import AppConfig
from serve_app.main import build
from toy_models import LIMIT, write_toy_catalogue

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

WORKERS = 2
DIGITS = "/v2/models/digits/infer"
GREEDY = {"selection": {"policy": "greedy"}}


@pytest.fixture(scope="module")
def client(ray_cluster: None, free_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Two applications: the built-in digits at ``/``, and the toy models at ``/toy``."""
    folder = tmp_path_factory.mktemp("http")
    catalogue = load_catalogue("builtin")
    measured = measured_profiles(catalogue.of_task("digits"), catalogue.root, "cpu", 1, budget_s=0.3)
    rows = {v.name: ProfiledVariant(v.accuracy_pct, measured[v.name]) for v in catalogue.of_task("digits")}
    write_profiles(folder / "digits.csv", rows)
    pool = {"workers": WORKERS, "num_cpus": 0.1}
    digits = AppConfig.model_validate(
        {
            "profiles": {"cpu": str(folder / "digits.csv")},
            "endpoints": {
                "digits": {"task": "digits", "slo_ms": 1000, "balancing": "shortest_queue", **GREEDY},
                "compared": {
                    "task": "digits",
                    "slo_ms": 4000,
                    "selection": {"policy": "fixed", "variant": "digits-mlp"},
                    "shadow": {"share": 0.5},
                },
            },
            "pools": {"cpu": pool},
            "max_body_bytes": 20_000,
            "router_num_cpus": 0.1,
        }
    )
    toy = AppConfig.model_validate(
        {
            "catalogue": str(write_toy_catalogue(folder)),
            "profiles": {"cpu": str(folder / "profiles.csv")},
            "endpoints": {
                "toy": {"task": "toy", "slo_ms": 1000, **GREEDY},
                "patient": {"task": "toy", "slo_ms": 1000, "selection": {"policy": "adaptive_batching"}},
                "admitting": {"task": "toy", "slo_ms": 1000, "admission": {}, **GREEDY},
                "impatient": {"task": "toy", "slo_ms": 1000, "drop_late": True, "max_queued_rows": 8, **GREEDY},
                "promised": {"task": "toy", "slo_ms": 1000, "selection": {"policy": "ramsis"}},
            },
            "pools": {"toy": {"workers": 1, "num_cpus": 0.1}},
            "router_num_cpus": 0.1,
        }
    )
    serve.start(http_options={"host": "127.0.0.1", "port": free_port})
    serve.run(build(digits.model_dump()), name="digits", route_prefix="/")
    serve.run(build(toy.model_dump()), name="toy", route_prefix="/toy")
    with httpx2.Client(base_url=f"http://127.0.0.1:{free_port}", timeout=60) as made:
        for prefix in ("", "/toy"):
            until(lambda prefix=prefix: made.get(f"{prefix}/v2/health/ready").status_code == 200)  # type: ignore[misc]
        until(lambda: len(made.get("/accord/status").json()["workers"]) == WORKERS)
        yield made


def infer(client: httpx2.Client, body: dict[str, Any]) -> httpx2.Response:
    return client.post(DIGITS, json=body)


def test_a_service_is_ready_once_it_has_measured_every_variant_in_place(client: httpx2.Client) -> None:
    for prefix in ("", "/toy"):
        status = client.get(f"{prefix}/accord/status").json()
        assert all(endpoint["arrived"] == 0 for endpoint in status["endpoints"].values()), "this test comes first"
        for worker in status["workers"].values():
            known = worker["latency"]
            assert {*known["run_factors"]} <= {*worker["loaded"]}
            assert known["run_factors"]
            assert all(factor > 0 for factor in known["run_factors"].values())
            assert 0 < known["path_ms"] <= known["path_tail_ms"]
            assert known["path_ms"] != 10.0, "transport_ms is what was taken to hold before"


def test_tables_come_into_force_while_queries_are_answered(client: httpx2.Client) -> None:
    def tables() -> dict[str, Any]:
        answer = client.post("/toy/v2/models/promised/infer", json=toy(1.0))
        assert (answer.status_code, answer.json()["outputs"][0]["data"]) == (200, [2.0])
        return dict(client.get("/toy/accord/status").json()["endpoints"]["promised"]["tables"])

    until(lambda: tables()["state"] == "exact", 90)
    seen = tables()
    assert 0 < seen["made"] <= seen["wanted"]
    guarantee: dict[str, Any] = {}

    def judged() -> bool:
        guarantee.update(client.get("/toy/accord/status").json()["endpoints"]["promised"]["guarantee"])
        return bool(guarantee["queries"])

    until(judged)
    assert guarantee["kept"] in ("yes", "too early", "no")
    assert guarantee["promised_violation_rate"] == pytest.approx(TARGET_RATE)


def test_an_answer_names_the_variant_its_accuracy_the_latency_and_the_deadline(client: httpx2.Client) -> None:
    response = infer(client, digit(0) | {"id": "mine"})
    assert response.status_code == 200
    answer = response.json()
    assert answer["id"] == "mine"
    parameters = answer["parameters"]
    variant = load_catalogue("builtin").variant(parameters["variant"])
    assert parameters["expected_accuracy"] == variant.accuracy
    assert parameters["latency_ms"] > 0
    assert parameters["deadline_met"] in (True, False)
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert outputs["probabilities"]["shape"] == [1, 10]
    assert sum(outputs["probabilities"]["data"]) == pytest.approx(1.0, abs=1e-4)
    assert outputs["label"]["data"] == [int(np.argmax(outputs["probabilities"]["data"]))]


def test_some_answers_are_compared_with_the_most_accurate_variant_and_clients_see_nothing_of_it(
    client: httpx2.Client,
) -> None:
    def shadow() -> dict[str, Any]:
        return dict(client.get("/accord/status").json()["endpoints"]["compared"]["shadow"])

    sent = 0
    while sent < 200 and shadow()["compared"] < 12:
        for index in range(sent, sent + 20):
            answer = client.post("/v2/models/compared/infer", json=digit(index)).json()
            assert answer["parameters"]["variant"] == "digits-mlp"
            assert answer["parameters"]["accuracy_source"] in ("measured", "declared")
        sent += 20
    seen, status = shadow(), client.get("/accord/status").json()["endpoints"]["compared"]
    assert seen["reference"] == "digits-ensemble"
    assert 12 <= seen["compared"] <= seen["drawn"]
    live = seen["variants"]["digits-mlp"]
    assert live["low"] <= live["expected_accuracy"] <= live["high"]
    assert (live["drifted"], seen["alerts"]) == (False, [])
    assert status["answered"] == sent, "nothing that no client asked for counts as an answer"
    assert list(status["variants"]) == ["digits-mlp"]
    assert status["variants"]["digits-mlp"]["accuracy_source"] == answer["parameters"]["accuracy_source"]


def test_several_items_in_one_request_are_answered_in_order(client: httpx2.Client) -> None:
    images, labels = held_out()
    tensor = {
        "name": "image",
        "shape": [50, 12, 12],
        "datatype": "FP32",
        "data": images[:50].ravel().astype(int).tolist(),
    }
    response = infer(client, {"inputs": [tensor], "outputs": [{"name": "label"}]})
    assert response.status_code == 200
    (output,) = response.json()["outputs"]
    assert output["shape"] == [50]
    assert np.mean(np.array(output["data"]) == labels[:50]) > 0.5


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"{nope", 400, "the body is not JSON"),
        (b"", 400, "the body is not JSON"),
        ({"inputs": []}, 400, "'inputs' must be a list of tensors"),
        (digit(0, name="img"), 400, "input 'img' is unknown"),
        (digit(0, shape=[1, 8, 8]), 400, "has shape [1, 8, 8]; expected [-1, 12, 12]"),
        (digit(0, datatype="UINT8"), 400, "datatype 'UINT8'; expected 'FP32'"),
        (digit(0, shape=[0, 12, 12], data=[]), 400, "an empty batch"),
        (digit(0, data=[None] * 144), 400, "cannot hold None"),
        (digit(0, data=[1e39] * 144), 400, "NaN or a value beyond FP32"),
        (b" " * 20_001, 413, "20001 bytes and may have 20000"),
    ],
)
def test_a_wrong_query_is_told_why_and_the_next_good_one_is_answered(
    client: httpx2.Client, content: Any, status: int, message: str
) -> None:
    kind = {"content": content} if isinstance(content, bytes) else {"json": content}
    response = client.post(DIGITS, **kind)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    assert message in response.json()["error"]
    assert infer(client, digit(1)).status_code == 200


def test_a_body_without_a_length_is_measured_as_it_comes(client: httpx2.Client) -> None:
    response = client.post(DIGITS, content=(b" " * 5_000 for _ in range(5)))
    assert response.status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v2/models/nope/infer", 404),
        ("GET", "/v2/models/nope", 404),
        ("GET", "/v2/models/nope/ready", 404),
        ("GET", "/v2/models/digits/infer", 405),
        ("GET", "/nope", 404),
        ("POST", "/v2", 405),
    ],
)
def test_a_wrong_path_or_method_gets_a_json_error(client: httpx2.Client, method: str, path: str, status: int) -> None:
    response = client.request(method, path)
    assert response.status_code == status
    assert response.json()["error"]


def test_health_and_metadata_follow_the_protocol(client: httpx2.Client) -> None:
    assert client.get("/v2/health/live").json() == {"live": True}
    assert client.get("/v2/health/ready").json() == {"ready": True, "live": True}
    for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/digits/ready"):
        head = client.head(path)
        assert (head.status_code, head.content) == (200, b"")
    assert client.get("/v2").json()["name"] == "accord"
    assert client.get("/v2/models/digits/ready").json() == {"name": "digits", "ready": True}
    metadata = client.get("/v2/models/digits").json()
    assert metadata["inputs"] == [{"name": "image", "datatype": "FP32", "shape": [-1, 12, 12]}]
    assert metadata["parameters"]["slo_ms"] == 1000
    assert client.get("/v2/models/digits/versions/1").json() == metadata
    assert client.post("/v2/models/digits/versions/1/infer", json=digit(2)).status_code == 200


def test_the_openapi_page_describes_inference(client: httpx2.Client) -> None:
    page = client.get("/docs").text
    own = [part.split('"')[0] for part in page.replace("'", '"').split('src="')[1:] + page.split('href="')[1:]]
    assert own
    assert all(link.startswith("/") and client.get(link).status_code == 200 for link in own)
    paths = client.get("/openapi.json").json()["paths"]
    assert "post" in paths["/v2/models/{endpoint}/infer"]


def test_a_client_may_ask_for_its_own_deadline(client: httpx2.Client) -> None:
    in_time = infer(client, digit(3) | {"parameters": {"slo_ms": 60_000}}).json()["parameters"]
    hopeless = infer(client, digit(3) | {"parameters": {"timeout": 1}}).json()["parameters"]
    assert in_time["deadline_met"] is True
    assert hopeless["deadline_met"] is False


def test_late_queries_of_an_endpoint_that_drops_get_504_unless_they_were_running(client: httpx2.Client) -> None:
    body = toy(1.0) | {"parameters": {"timeout": 1}}
    responses = hammer(client, "/toy/v2/models/impatient/infer", [body], threads=8, each=10)
    assert {r.status_code for r in responses} <= {200, 504}
    late = next(r for r in responses if r.status_code == 504)
    assert "the deadline passed after" in late.json()["error"]


def test_more_than_the_queue_holds_is_refused_with_429(client: httpx2.Client) -> None:
    full = toy(*[1.0] * 8)
    responses = hammer(client, "/toy/v2/models/impatient/infer", [full], threads=16, each=20)
    assert {r.status_code for r in responses} == {200, 429}
    refused = next(r for r in responses if r.status_code == 429).json()
    assert "8 rows waiting and holds 8 at most" in refused["error"]
    assert (refused["reason"], refused["retryable"]) == ("Saturated", True)


def test_more_rows_than_the_queue_ever_holds_are_refused_for_good(client: httpx2.Client) -> None:
    assert client.get("/toy/v2/models/impatient").json()["parameters"]["max_rows"] == 8
    response = client.post("/toy/v2/models/impatient/infer", json=toy(*[1.0] * 9))
    assert response.status_code == 400
    assert "9 items and may have 8 at most" in response.json()["error"]


def test_a_variant_that_cannot_be_loaded_is_reported_and_others_answer(client: httpx2.Client) -> None:
    (worker,) = client.get("/toy/accord/status").json()["workers"].values()
    assert worker["loaded"] == ["brittle", "good"]
    assert "corrupt.onnx" in worker["failed"]["corrupt"]
    answer = client.post("/toy/v2/models/toy/infer", json=toy(1.0)).json()
    assert (answer["parameters"]["variant"], answer["outputs"][0]["data"]) == ("brittle", [2.0])


def test_a_query_on_which_a_variant_raises_is_answered_by_another(client: httpx2.Client) -> None:
    answer = client.post("/toy/v2/models/toy/infer", json=toy(LIMIT + 5.0)).json()
    assert (answer["parameters"]["variant"], answer["outputs"][0]["data"]) == ("good", [2.0 * (LIMIT + 5)])


def test_under_load_greedy_batches_and_no_query_is_lost(client: httpx2.Client) -> None:
    before = client.get("/accord/status").json()["endpoints"]["digits"]
    responses = hammer(client, DIGITS, [digit(i) for i in range(40)], threads=16, each=10)
    assert [r.status_code for r in responses] == [200] * 160
    assert max(r.json()["parameters"]["batch_size"] for r in responses) > 1
    after = client.get("/accord/status").json()["endpoints"]["digits"]
    assert after["arrived"] - before["arrived"] == 160
    assert after["answered"] - before["answered"] == 160


def test_adaptive_batching_answers_what_can_be_met_and_refuses_what_cannot(client: httpx2.Client) -> None:
    path = "/toy/v2/models/patient/infer"
    before = client.get("/toy/accord/status").json()["endpoints"]["patient"]
    urgent = toy(1.0) | {"parameters": {"timeout": 1}}
    responses = hammer(client, path, [toy(1.0), toy(1.0, 2.0), toy(3.0), urgent], threads=8, each=12)
    assert {r.status_code for r in responses} == {200, 504}
    assert sum(r.status_code == 504 for r in responses) == 24
    refused = next(r for r in responses if r.status_code == 504)
    assert "could not be met any more" in refused.json()["error"]
    after = client.get("/toy/accord/status").json()["endpoints"]["patient"]
    assert after["arrived"] - before["arrived"] == 96
    assert after["answered"] - before["answered"] == 72


def test_a_killed_worker_costs_no_query_and_is_replaced(client: httpx2.Client) -> None:
    before = set(client.get("/accord/status").json()["workers"])
    victim = sorted(before)[0]
    killer = threading.Timer(0.5, kill, [victim])
    killer.start()
    responses = hammer(client, DIGITS, [digit(i) for i in range(40)], threads=8, each=40)
    killer.join()
    assert {r.status_code for r in responses} == {200}

    def replaced() -> bool:
        workers = set(client.get("/accord/status").json()["workers"])
        return victim not in workers and len(workers) == WORKERS

    until(replaced, 90)
    assert infer(client, digit(4)).status_code == 200


def test_what_no_variant_can_meet_is_refused_at_once_with_its_reason(client: httpx2.Client) -> None:
    body = toy(1.0)
    path = "/toy/v2/models/admitting/infer"
    assert client.post(path, json=body).status_code == 200
    passed = client.post(path, json=body | {"parameters": {"slo_ms": 0.001}})
    assert (passed.status_code, passed.json()["reason"]) == (504, "DeadlineMissed")
    assert passed.headers["x-accord-reason"] == passed.json()["code"] == "rejected-ttl-expired"
    short = client.post(path, json=body, headers={"x-envoy-expected-rq-timeout-ms": "0.5"})
    assert (short.status_code, short.headers["x-accord-reason"]) in {
        (429, "rejected-slo-infeasible"),
        (504, "rejected-ttl-expired"),  # where it takes longer than that to read it
    }
    status = client.get("/toy/accord/status").json()["endpoints"]["admitting"]
    assert sum(status["rejected_by_code"].values()) == 2
