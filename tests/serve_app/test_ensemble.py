"""An ensemble on a real local cluster: votes, accuracies that queries ask for, labels, and losses of every process."""

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
import ray
from http_scene import digit, hammer, kill, until
from ray import serve

from catalog.catalogue import load_catalogue
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.votes import write_votes
from catalog.zoo.digits import held_out
from deployments.messages.learned import LearnedVotes
from deployments.state.store import SqliteStateStore
from deployments.worker.measure import measured_profiles
from serve_app.config.schema import AppConfig
from serve_app.main import build
from vote_scene import confusion, drawn_votes

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

WORKERS = 2
INFER, FEEDBACK = "/v2/models/digits/infer", "/v2/models/digits/feedback"
VARIANTS = load_catalogue("builtin").of_task("digits")
MEMBERS = [variant.name for variant in VARIANTS]
LEAST = min(VARIANTS, key=lambda variant: variant.accuracy)
LABELS = held_out()[1].tolist()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state") / "state.db"


@pytest.fixture(scope="module")
def client(
    ray_cluster: None, free_port: int, state: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx2.Client]:
    folder, catalogue = tmp_path_factory.mktemp("ensemble"), load_catalogue("builtin")
    measured = measured_profiles(catalogue.of_task("digits"), catalogue.root, "cpu", 1, budget_s=0.3)
    write_profiles(folder / "digits.csv", {v.name: ProfiledVariant(v.accuracy_pct, measured[v.name]) for v in VARIANTS})
    # as if most errors were each variant's own: one of the real ones is better alone than all of them together
    drawn = drawn_votes({v.name: confusion([v.accuracy] * 10) for v in VARIANTS}, rows=1500, seed=1, together=0.03)
    write_votes(folder / "votes.csv", {"dev": drawn})
    config = AppConfig.model_validate(
        {
            "profiles": {"cpu": str(folder / "digits.csv")},
            "endpoints": {
                "digits": {"task": "digits", "slo_ms": 4000, "ensemble": {"votes": str(folder / "votes.csv")}}
            },
            "pools": {"cpu": {"workers": WORKERS, "num_cpus": 0.1}},
            "router_num_cpus": 0.1,
            "warm_up_s": 0.5,
            "controller": {"state": str(state)},
        }
    )
    serve.start(http_options={"host": "127.0.0.1", "port": free_port})
    serve.run(build(config.model_dump(exclude_unset=True)), name="digits", route_prefix="/")
    with httpx2.Client(base_url=f"http://127.0.0.1:{free_port}", timeout=60) as made:
        until(lambda: made.get("/v2/health/ready").status_code == 200)
        until(lambda: len(made.get("/accord/status").json()["workers"]) == WORKERS)
        yield made


def ask(client: httpx2.Client, index: int = 0, **changes: Any) -> httpx2.Response:
    return client.post(INFER, json=digit(index) | changes)


def asked(client: httpx2.Client, index: int = 0, **changes: Any) -> dict[str, Any]:
    response = ask(client, index, **changes)
    assert response.status_code == 200, response.text
    return dict(response.json()["parameters"])


def tell(client: httpx2.Client, *labels: tuple[str, Any]) -> dict[str, Any]:
    response = client.post(FEEDBACK, json={"feedback": [{"id": name, "label": label} for name, label in labels]})
    assert response.status_code == 200, response.text
    return dict(response.json())


def truth(client: httpx2.Client) -> dict[str, Any]:
    return dict(client.get("/accord/status").json()["endpoints"]["digits"]["ground_truth"])


def learned_rows() -> float:
    """Labelled votes that the controller knows of, of all members and routers; -1 where it does not answer."""
    controller = serve.get_deployment_handle("Controller", "digits")
    try:
        known: dict[str, LearnedVotes] = controller.exchange_learned.remote("nobody", {}).result(timeout_s=5)
    except Exception:  # it is not there just now
        return -1.0
    return sum(float(counts[0].sum()) for votes in known.values() for counts in votes.by_member.values())


def voted(parameters: Sequence[dict[str, Any]]) -> int:
    return sum(len(each["votes"]) for each in parameters)


def replicas(deployment: str) -> set[str]:
    """The names of those that there are."""
    names = [str(actor["name"]) for actor in ray.util.list_named_actors(all_namespaces=True)]
    return {name for name in names if f"#{deployment}#" in name}


def test_an_answer_says_who_voted_and_for_what(client: httpx2.Client) -> None:
    right = 0
    for index in range(20):
        parameters = asked(client, index)
        assert len(parameters["variants"]) > 1
        assert set(parameters["variants"]) == set(parameters["votes"]) <= set(MEMBERS)
        assert parameters["variant"] == "+".join(parameters["variants"])
        assert 0.9 < parameters["expected_accuracy"] <= 1.0
        said = {vote for votes in parameters["votes"].values() for vote in votes}
        assert all(vote in {str(number) for number in range(10)} for vote in said)
        body = ask(client, index).json()
        right += body["outputs"][0]["data"][0] == LABELS[index]
        assert sum(body["outputs"][1]["data"]) == pytest.approx(1.0, abs=1e-4)
    assert right >= 16


def test_several_rows_are_voted_on_one_by_one(client: httpx2.Client) -> None:
    pixels = [pixel for index in range(3) for pixel in digit(index)["inputs"][0]["data"]]
    body = ask(client, 0, **digit(0, shape=[3, 12, 12], data=pixels)).json()
    assert {len(votes) for votes in body["parameters"]["votes"].values()} == {3}
    assert body["outputs"][0]["shape"] == [3]


def test_a_query_that_asks_for_less_gets_fewer_members(client: httpx2.Client) -> None:
    few = asked(client, parameters={"accuracy": LEAST.accuracy - 0.01})
    assert len(few["variants"]) == 1, "which one depends on the measured latencies"
    most = asked(client)
    assert len(most["variants"]) > 1
    some = asked(client, parameters={"accuracy": 0.93})
    assert some["expected_accuracy"] >= 0.928
    assert some["variants"] != few["variants"]
    assert few["expected_accuracy"] >= LEAST.accuracy - 0.0121
    assert few["expected_accuracy"] < most["expected_accuracy"]


def test_an_accuracy_out_of_reach_is_refused_with_what_is_possible(client: httpx2.Client) -> None:
    refused = ask(client, parameters={"accuracy": 0.9999})
    assert refused.status_code == 400
    assert refused.json()["reason"] == "ConstraintUnmet"
    possible = float(refused.json()["error"].split("at most ")[1].split(" ")[0])
    assert 0.95 < possible < 0.9999
    assert asked(client, parameters={"accuracy": possible})["expected_accuracy"] >= possible - 0.0021
    assert ask(client, parameters={"accuracy": 95}).status_code == 400


def test_labels_teach_and_survive_the_router_and_the_controller(client: httpx2.Client, state: Path) -> None:
    first = [asked(client, index, id=f"first-{index}") for index in range(12)]
    told = tell(client, *((f"first-{index}", LABELS[index]) for index in range(10)), ("never", 3))
    assert (told["matched"], told["unknown"]) == (10, 1)
    told = tell(client, ("first-10", str(LABELS[10])), ("first-0", LABELS[0]))
    assert [each["result"] for each in told["results"]] == ["matched", "duplicate"]
    for label in ("ten", 10, [1, 2]):
        wrong = client.post(FEEDBACK, json={"id": "first-11", "label": label})
        assert (wrong.status_code, wrong.json()["reason"]) == (400, "BadRequest")
        assert "first-11" in wrong.json()["error"]
    seen = truth(client)
    assert seen["labelled"] == 11
    assert 8 <= seen["right"] <= 11
    rows = {member: each["labelled"] for member, each in seen["members"].items()}
    assert rows == {member: sum(member in each["votes"] for each in first[:11]) for member in MEMBERS}
    assert all(each["right"] <= each["labelled"] <= each["answered"] for each in seen["members"].values())
    assert all(each["agreed"] <= each["answered"] for each in seen["members"].values())
    before = voted(first[:11])
    until(lambda: learned_rows() == before)

    (router,) = replicas("Router")
    kill(router)
    until(lambda: _again(client))
    assert truth(client)["labelled"] == 0, "a router counts from its start"
    second = [asked(client, index, id=f"second-{index}") for index in range(5)]
    assert tell(client, *((f"second-{index}", LABELS[index]) for index in range(5)))["matched"] == 5
    assert tell(client, ("first-11", LABELS[11]))["unknown"] == 1, "the answers that a router remembers go with it"
    until(lambda: learned_rows() == before + voted(second))

    store = SqliteStateStore(state)
    until(lambda: _rows_in(store) == before + voted(second))
    (controller,) = replicas("Controller")
    kill(controller)
    until(lambda: controller not in replicas("Controller") and learned_rows() == before + voted(second))
    assert asked(client)["votes"]


def _again(client: httpx2.Client) -> bool:
    """Whether a router answers that has all workers."""
    try:
        workers = client.get("/accord/status").json()["workers"]
        return len(workers) == WORKERS and client.get("/v2/health/ready").status_code == 200
    except (httpx2.HTTPError, json.JSONDecodeError, KeyError):
        return False


def _rows_in(store: SqliteStateStore) -> float:
    record = store.read("learned") or {"routers": {}}
    return sum(
        sum(counts[0])
        for endpoints in record["routers"].values()
        for members in endpoints.values()
        for counts in members.values()
    )


def test_a_killed_worker_costs_no_query_and_is_replaced(client: httpx2.Client) -> None:
    before = set(client.get("/accord/status").json()["workers"])
    victim = sorted(before)[0]
    killer = threading.Timer(0.5, kill, [victim])
    killer.start()
    responses = hammer(client, INFER, [digit(index) for index in range(40)], threads=4, each=40)
    killer.join()
    assert {response.status_code for response in responses} == {200}
    assert all(response.json()["parameters"]["votes"] for response in responses)

    def replaced() -> bool:
        workers = set(client.get("/accord/status").json()["workers"])
        return victim not in workers and len(workers) == WORKERS

    until(replaced, 90)
    status = client.get("/accord/status").json()["endpoints"]["digits"]
    assert (status["selection"], status["failed"], status["rejected"]) == ("ensemble", 0, 0)
    assert asked(client)["votes"]
