"""What a config may say, and how a wrong one is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from serve_app.schema import AppConfig


def config(**changes: Any) -> dict[str, Any]:
    return {
        "endpoints": {"digits": {"task": "digits", "slo_ms": 100}},
        "pools": {"cpu": {"workers": 2}},
    } | changes


def test_the_shortest_config_has_sensible_defaults() -> None:
    app = AppConfig.model_validate(config())
    assert app.endpoints["digits"].selection.policy == "ramsis"
    assert app.endpoints["digits"].drop_late is False
    assert app.pools["cpu"].device == "cpu"
    assert app.catalogue == "builtin"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"endpoint": {}}, "endpoint\n  Extra inputs are not permitted"),
        ({"endpoints": {}}, "endpoints\n  Dictionary should have at least 1 item"),
        ({"endpoints": {"digits": {"task": "digits"}}}, r"endpoints.digits.slo_ms\n  Field required"),
        ({"endpoints": {"a/b": {"task": "t", "slo_ms": 1}}}, "String should match pattern"),
        ({"endpoints": {"d": {"task": "t", "slo_ms": -1}}}, "greater than 0"),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 4}}},
            r"endpoints.d.slo_ms is 4, no more than transport_ms \(10\)",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 9, "balancing": "random"}}},
            "balancing 'random' is unknown; use one of round_robin, shortest_queue, central",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 9, "selection": {"policy": "best"}}}},
            "selection.policy 'best' is unknown; use one of ramsis, greedy, fixed",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 9, "selection": {"policy": "fixed"}}}},
            "selection.variant is missing",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 9, "selection": {"policy": "greedy", "variant": "x"}}}},
            "selection.variant is 'x', but policy 'greedy' chooses for itself",
        ),
        (
            {
                "endpoints": {
                    "d": {"task": "t", "slo_ms": 9, "balancing": "central", "selection": {"policy": "proteus"}}
                }
            },
            "balancing is 'central', and policy 'proteus' gives up what one worker cannot meet",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 99, "balancing": "central"}}},
            "balancing is 'central', and policy 'ramsis' plans for a queue per worker; use one of round_robin, short",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 99, "pools": ["gpu"]}}},
            "endpoints.d.pools: 'gpu' is no pool here; pools: cpu",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 99, "pools": []}}},
            r"endpoints.d.pools\n  Tuple should have at least 1 item",
        ),
        ({"pools": {"cpu": {"workers": 0}}}, "pools.cpu.workers\n  Input should be greater than or equal to 1"),
        ({"pools": {"gpu": {"device": "cuda"}}}, "num_gpus is 0 in a pool with device 'cuda'"),
        ({"pools": {"cpu": {"num_gpus": 1}}}, "num_gpus is 1.0 in a pool with device 'cpu'"),
        ({"pools": {"Router": {}}}, "pools.Router: the name is taken"),
        ({"profiles": {"cuda": "x.csv"}}, "profiles.cuda is given, but no pool has that device; devices here: cpu"),
    ],
)
def test_a_wrong_config_is_refused_naming_the_field_the_value_and_the_remedy(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        AppConfig.model_validate(config(**changes))


def test_an_endpoint_is_served_by_all_pools_or_those_that_it_names() -> None:
    endpoints = {"a": {"task": "t", "slo_ms": 99}, "b": {"task": "t", "slo_ms": 99, "pools": ["two"]}}
    app = AppConfig.model_validate({"endpoints": endpoints, "pools": {"one": {}, "two": {}}})
    assert list(app.pools_of("a")) == ["one", "two"]
    assert list(app.pools_of("b")) == ["two"]
