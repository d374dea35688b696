"""What a Prometheus gets from a service: a real cluster's metrics, scraped from its nodes."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator

import httpx2
import pytest
import ray
from prometheus_client.parser import text_string_to_metric_families
from ray import serve

from serve_app.loadgen.dataset import load_dataset
from serve_app.main import build

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

QUERIES = 40

Scraped = dict[str, list[tuple[dict[str, str], float]]]
"""By metric the tags and the value of each of its series."""


@pytest.fixture(scope="module")
def client(ray_cluster: None, free_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    state = tmp_path_factory.mktemp("monitoring") / "state.db"
    args = {
        "endpoints": {
            "digits": {"task": "digits", "slo_ms": 2000, "selection": {"policy": "greedy"}, "admission": {}},
        },
        "pools": {"cpu": {"workers": 2, "num_cpus": 0.1}},
        "router_num_cpus": 0.1,
        "controller": {"planner": "proteus", "interval_s": 3600, "state": str(state)},
    }
    serve.start(http_options={"host": "127.0.0.1", "port": free_port})
    serve.run(build(args), name="accord", route_prefix="/")
    with httpx2.Client(base_url=f"http://127.0.0.1:{free_port}", timeout=60) as made:
        until(lambda: made.get("/v2/health/ready").status_code == 200, 120)
        yield made


def until(holds: Callable[[], bool], timeout_s: float) -> None:
    ends_s = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < ends_s, "not within the time"
        time.sleep(0.5)


def scrape() -> Scraped:
    """Of all nodes, those of Accord."""
    found: Scraped = defaultdict(list)
    for node in ray.nodes():
        address = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
        for family in text_string_to_metric_families(httpx2.get(address, timeout=30).text):
            for sample in family.samples:
                if sample.name.startswith("ray_accord_"):
                    found[sample.name].append((sample.labels, sample.value))
    return found


def total(scraped: Scraped, metric: str, **tags: str) -> float:
    return sum(value for labels, value in scraped[metric] if tags.items() <= labels.items())


def test_queries_variants_batches_and_the_plan_arrive_at_prometheus(client: httpx2.Client) -> None:
    begun = [f"ray_accord_{each}_total" for each in ("queries", "violations", "cancelled", "latency_ms_bucket")]
    until(lambda: scrape().keys() >= set(begun), 60)
    at_first = scrape()
    assert [total(at_first, metric) for metric in begun] == pytest.approx([0.0] * len(begun))
    bodies = load_dataset("test", None).bodies
    for body in bodies[:QUERIES]:
        assert client.post("/v2/models/digits/infer", content=body).status_code == 200
    refused = client.post("/v2/models/digits/infer", content=load_dataset("test", 0.001).bodies[0])
    assert (refused.status_code, refused.json()["reason"]) == (504, "DeadlineMissed")
    until(lambda: total(scrape(), "ray_accord_latency_ms_bucket_total", le="+Inf") == QUERIES, 120)
    until(lambda: total(scrape(), "ray_accord_refusals_total") == 1, 60)
    seen = scrape()
    assert {labels["application"] for series in seen.values() for labels, _ in series} == {"accord"}
    own = {"endpoint": "digits"}
    assert total(seen, "ray_accord_queries_total", **own) == QUERIES, "it asked for less time than the objective"
    assert total(seen, "ray_accord_refusals_total", **own, code=refused.json()["code"]) == 1
    assert total(seen, "ray_accord_answers_total", **own) == QUERIES
    assert total(seen, "ray_accord_latency_ms_bucket_total", **own, le="10000") == QUERIES
    assert 0 < total(seen, "ray_accord_latency_ms_sum_total", **own) < QUERIES * 2000
    assert total(seen, "ray_accord_batch_rows_total", **own, pool="cpu") >= QUERIES
    assert 1 <= total(seen, "ray_accord_batches_total", pool="cpu") <= total(seen, "ray_accord_batch_rows_total")
    assert 0 < total(seen, "ray_accord_run_seconds_total", pool="cpu") < QUERIES * 2
    assert total(seen, "ray_accord_objective_ms", **own) == 2000
    assert total(seen, "ray_accord_workers", pool="cpu") == 2
    assert total(seen, "ray_accord_pool_workers", pool="cpu") == total(seen, "ray_accord_pool_workers_wanted") == 2
    assert total(seen, "ray_accord_plan_version") >= 1
    assert 0 < total(seen, "ray_accord_planned_accuracy_ratio", **own) <= 1
    assert total(seen, "ray_accord_unloadable_variants") == 0
