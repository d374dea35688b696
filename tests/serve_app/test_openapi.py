"""The OpenAPI document against a running service: whatever it lets a client send gets an answer that it describes.

On the same service, queries of any length.
"""

import re
from pathlib import Path
from typing import Any

import httpx2
import length_scene
import pytest
import schemathesis
from http_scene import hammer, toy, until
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from ray import serve
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from serve_app.config.schema import AppConfig
from serve_app.main import build
from toy_models import write_toy_catalogue

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

PAGE = Path(__file__).parents[2] / "docs" / "http-api.md"
DOCUMENTED = set(re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE.read_text(), re.MULTILINE))
CHECKED = [status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 30
"""Of each operation, well formed and malformed."""


@pytest.fixture(scope="module")
def url(ray_cluster: None, free_port: int, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("openapi")
    catalogue = write_toy_catalogue(folder)
    length_scene.add_to(catalogue)
    config = AppConfig.model_validate(
        {
            "catalogue": str(catalogue),
            "profiles": {"cpu": str(folder / "profiles.csv")},
            "endpoints": {
                name: {"task": name, "slo_ms": 1000, "selection": {"policy": "greedy"}} for name in ("toy", "spans")
            },
            "pools": {"cpu": {"workers": 1, "num_cpus": 0.1}},
            "router_num_cpus": 0.1,
            "warm_up_s": 0,
            "controller": {"state": str(folder / "state.db")},
        }
    )
    serve.start(http_options={"host": "127.0.0.1", "port": free_port})
    serve.run(build(config.model_dump()), name="openapi", route_prefix="/")
    made = f"http://127.0.0.1:{free_port}"
    until(lambda: httpx2.get(f"{made}/v2/health/ready").status_code == 200)
    return made


def operations(document: dict[str, Any]) -> list[Any]:
    return [result.ok() for result in schemathesis.openapi.from_dict(document).get_all_operations()]


def statuses_of(operation: Any, mode: GenerationMode, url: str) -> set[int]:
    """Send what the document allows of an operation, or what it does not, and hold every answer to it."""
    seen: set[int] = set()

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode), st.booleans())
    def answers(case: Case, known: bool) -> None:
        if known and "endpoint" in (case.path_parameters or {}):
            case.path_parameters["endpoint"] = "toy"
            if "version" in case.path_parameters:
                case.path_parameters["version"] = "1"
        response = case.call(base_url=url, timeout=30)
        seen.add(response.status_code)
        case.validate_response(response, checks=CHECKED)
        if response.status_code >= 400:
            assert (str(response.status_code), response.json()["reason"]) in DOCUMENTED, response.text

    try:
        answers()
    except Unsatisfiable:  # nothing malformed can be sent where nothing is taken
        assert mode is GenerationMode.NEGATIVE
    return seen


def test_whatever_the_document_allows_or_forbids_gets_an_answer_that_it_describes(url: str) -> None:
    document = httpx2.get(f"{url}/openapi.json").json()
    assert len(operations(document)) >= 22
    for operation in operations(document):
        allowed = statuses_of(operation, GenerationMode.POSITIVE, url)
        forbidden = statuses_of(operation, GenerationMode.NEGATIVE, url)
        assert allowed, operation.label
        assert max(allowed | forbidden) < 600
    assert httpx2.post(f"{url}/v2/models/toy/infer", json=toy(1.0)).status_code == 200


def test_queries_of_any_length_share_batches_and_get_their_own_answers(url: str) -> None:
    lengths = [3, 4, 17, 20, 60, length_scene.LONGEST]
    values = {length: [float(place * length) for place in range(length)] for length in lengths}
    bodies = [
        {"id": str(length), "inputs": [{"name": "ids", "shape": [1, length], "datatype": "FP32", "data": data}]}
        for length, data in values.items()
    ]
    with httpx2.Client(base_url=url) as client:
        responses = hammer(client, "/v2/models/spans/infer", bodies, threads=16, each=12)
        too_long = {"name": "ids", "shape": [1, 65], "datatype": "FP32", "data": [0.0] * 65}
        refused = client.post("/v2/models/spans/infer", json={"inputs": [too_long]})
    assert (refused.status_code, "has length 65 on axis 1; send 1 to 64" in refused.json()["error"]) == (400, True)
    for response in responses:
        assert response.status_code == 200, response.text
        answer = response.json()
        data = values[int(answer["id"])]
        outputs = {output["name"]: output for output in answer["outputs"]}
        assert outputs["doubled"]["shape"] == [1, len(data)]
        assert outputs["doubled"]["data"] == [2 * value for value in data]
        assert outputs["mean"]["data"] == pytest.approx([sum(data) / len(data)], rel=1e-5)
    assert max(response.json()["parameters"]["batch_size"] for response in responses) > 1
