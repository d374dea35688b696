"""What a router takes from a config beside its plan."""

from typing import Any

import pytest

from serve_app.build.router_settings import router_settings
from serve_app.config.schema import AppConfig
from serve_app.config.security import SecurityConfig
from serve_app.http.intake import IntakeLimits


def config(**changes: Any) -> AppConfig:
    return AppConfig.model_validate(
        {
            "endpoints": {
                "one": {"task": "digits", "slo_ms": 100},
                "two": {"task": "digits", "slo_ms": 100, "balancing": "shortest_queue"},
                "three": {"task": "digits", "slo_ms": 100, "selection": {"policy": "greedy"}},
            },
            "pools": {"cpu": {}},
            **changes,
        }
    )


def test_by_default_there_is_a_warm_up_and_ten_milliseconds_of_way_before_it() -> None:
    made = router_settings(config())
    assert (made.path_s, made.warm_up_s, made.intake.max_body_bytes) == (0.010, 2.0, 16 * 1024 * 1024)


def test_endpoints_by_tables_are_named_with_their_balancing() -> None:
    assert router_settings(config()).balancing == {"one": "round_robin", "two": "shortest_queue"}


def test_a_formulation_is_told_where_the_config_names_one() -> None:
    assert router_settings(config()).formulations == {}
    paper = {"task": "digits", "slo_ms": 100, "selection": {"policy": "ramsis", "formulation": "per_decision"}}
    assert router_settings(config(endpoints={"paper": paper})).formulations == {"paper": "per_decision"}


def test_what_the_config_says_is_taken() -> None:
    made = router_settings(config(transport_ms=2.5, warm_up_s=0, max_body_bytes=4096, endpoints=greedy()))
    assert (made.path_s, made.warm_up_s, made.balancing) == (0.0025, 0.0, {})
    assert made.intake == IntakeLimits(4096, 10.0, 4000)
    assert made.security == SecurityConfig()


def greedy() -> dict[str, Any]:
    return {"one": {"task": "digits", "slo_ms": 100, "selection": {"policy": "greedy"}}}


def test_a_warm_up_does_not_end_before_it_begins() -> None:
    with pytest.raises(ValueError, match="warm_up_s"):
        config(warm_up_s=-1.0)
