"""What a config may say, and how a wrong one is refused."""

from typing import Any

import pytest
from pydantic import ValidationError
from schema_scene import TABLES, config

from autoscaler.loop.sizing import Bounds
from catalog.errors import ConfigError
from serve_app.config.live_changes import LiveChanges
from serve_app.config.read import app_config
from serve_app.config.schema import AppConfig

PLANNED = {"digits": {"task": "digits", "slo_ms": 100, "selection": {"policy": "adaptive_batching"}}}


def test_the_shortest_config_has_sensible_defaults() -> None:
    app = app_config(config())
    assert app.endpoints["digits"].selection.policy == "ramsis"
    assert app.endpoints["digits"].drop_late is False
    assert app.pools["cpu"].device == "cpu"
    assert app.catalogue == "builtin"
    assert app.controller.forecast is None


def test_forecasts_have_sensible_defaults() -> None:
    app = app_config(config(endpoints=PLANNED, controller={"planner": "proteus", "forecast": {}}))
    forecast = app.controller.forecast
    assert forecast is not None
    assert (forecast.model, forecast.quantile, forecast.horizon_s) == ("deepar", 0.9, None)
    assert (forecast.retrain_every_s, forecast.history_s, forecast.max_age_s) == (86_400, 14 * 86_400, 7 * 86_400)
    assert app.pools["cpu"].start_up_s == 10.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"endpoint": {}}, r"endpoint is unknown \(did you mean 'endpoints'\?\); known here: catalogue, profiles"),
        ({"endpoints": {}}, "endpoints has 0 entries; give at least 1"),
        ({"endpoints": {"digits": {"task": "digits"}}}, "endpoints.digits.slo_ms is missing"),
        ({"endpoints": {"a/b": {"task": "t", "slo_ms": 1}}}, "endpoints.a/b is 'a/b'; give text that matches"),
        ({"endpoints": {"d": {"task": "t", "slo_ms": -1}}}, "endpoints.d.slo_ms is -1; give a number above 0"),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 4}}},
            r"endpoints.d.slo_ms is 4, no more than transport_ms \(10\)",
        ),
        ({"controller": {"forecast": {}}}, "planner 'everywhere' plans for no load; remove it, or use planner proteus"),
        (
            {"controller": {"planner": "proteus", "forecast": {"model": "oracle"}}},
            "controller.forecast.model: 'oracle' is unknown; use one of constant, deepar",
        ),
        (
            {"controller": {"planner": "proteus", "forecast": {"quantile": 1.0}}},
            "controller.forecast.quantile is 1.0; give a number of at most 0.99",
        ),
        (
            {"controller": {"planner": "proteus", "forecast": {"modle": "ewma"}}},
            r"controller.forecast.modle is unknown \(did you mean 'model'\?\)",
        ),
        (
            {"controller": {"planner": "proteus", "forecast": {"max_age_s": 86400}}},
            "max_age_s is 86400, and a model is up to 172800 s old when the next is there",
        ),
        (
            {"endpoints": PLANNED, "controller": {"planner": "proteus", "forecast": {"artifacts": {"x": "m"}}}},
            "controller.forecast.artifacts.x is no endpoint here; endpoints: digits",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 9, "balancing": "random"}}},
            "endpoints.d.balancing: 'random' is unknown; use one of round_robin, shortest_queue, bin_packing, central",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 9, "selection": {"policy": "best"}}}},
            "endpoints.d.selection.policy: 'best' is unknown; use one of ramsis, greedy, slack_fit, fixed",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 9, "selection": {"policy": "fixed"}}}},
            "endpoints.d.selection: variant is missing",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 9, "selection": {"policy": "greedy", "variant": "x"}}}},
            "endpoints.d.selection: variant is 'x', but policy 'greedy' does without",
        ),
        (
            {
                "endpoints": {
                    "d": {
                        "task": "t",
                        "slo_ms": 9,
                        "balancing": "central",
                        "selection": {"policy": "adaptive_batching"},
                    }
                }
            },
            "balancing is 'central', and policy 'adaptive_batching' gives up what one worker cannot meet",
        ),
        (
            {
                "endpoints": {
                    "d": {"task": "t", "slo_ms": 9, "balancing": "bin_packing", "selection": {"policy": "nexus"}}
                }
            },
            "balancing is 'bin_packing', and policy 'nexus' gives up what one worker cannot meet",
        ),
        (
            {"endpoints": {"d": {"task": "t", "slo_ms": 9}}, "clients": {"named": {"ops": {"burst": 5}}}},
            "clients.named.ops: burst is 5, of no rate; give rate_qps as well",
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
            "endpoints.d.pools has 0 entries; give at least 1",
        ),
        ({"pools": {"cpu": {"workers": -1}}}, "pools.cpu.workers is -1; give a number of at least 0"),
        (
            {"pools": {"cpu": {"workers": 0}}},
            "workers is 0 and there is no max_workers, so that the pool never has any",
        ),
        (
            {"pools": {"cpu": {"workers": 1, "min_workers": 2}}},
            r"workers is 1, fewer than min_workers \(2\); raise workers",
        ),
        (
            {"pools": {"cpu": {"workers": 3, "max_workers": 2}}},
            r"workers is 3, more than max_workers \(2\); lower workers",
        ),
        ({"pools": {"cpu": {"max_workers": 0}}}, "pools.cpu.max_workers is 0; give a number of at least 1"),
        ({"pools": {"cpu": {"memory_bytes": 0}}}, "pools.cpu.memory_bytes is 0; give a number above 0"),
        ({"pools": {"cpu": {"price_per_h": -1}}}, "pools.cpu.price_per_h is -1; give a number of at least 0"),
        ({"pools": {"Controller": {}}}, "pools.Controller: the name is taken"),
        ({"routers": 0}, "routers is 0; give a number of at least 1"),
        (
            {"controller": {"proteus": {}}},
            "proteus is given, and the planner is 'everywhere'; remove it, or use planner proteus",
        ),
        (
            {"controller": {"planner": "proteus", "proteus": {"overload": "all"}}},
            "controller.proteus.overload: 'all' is unknown; use one of most, even",
        ),
        ({"controller": {"planner": "best"}}, "controller.planner: 'best' is unknown; use one of everywhere, proteus"),
        ({"controller": {"interval_s": 0}}, "controller.interval_s is 0; give a number above 0"),
        (
            {"controller": {"planner": "ipa"}},
            "endpoints.digits.selection.policy is 'ramsis', and the planner 'ipa' decides which variant a worker",
        ),
        (
            {"endpoints": {"d": TABLES | {"balancing": "shortest_queue"}}},
            "selection.formulation is 'per_query', and queues joined by length have no process per query",
        ),
        (
            {"endpoints": {"d": TABLES | {"selection": {"policy": "greedy", "formulation": "per_decision"}}}},
            "formulation is 'per_decision', but policy 'greedy' has no tables",
        ),
        ({"pools": {"gpu": {"device": "cuda"}}}, "num_gpus is 0 in a pool with device 'cuda'"),
        (
            {"pools": {"gpu": {"device": "cuda-a100"}}},
            "num_gpus is 0 in a pool with device 'cuda-a100'; give its workers a GPU",
        ),
        ({"pools": {"cpu": {"device": "tpu"}}}, "pools.cpu.device"),
        ({"pools": {"cpu": {"num_gpus": 1}}}, "num_gpus is 1.0 in a pool with device 'cpu'"),
        ({"pools": {"Router": {}}}, "pools.Router: the name is taken"),
        ({"endpoints": {"infer": TABLES}}, "endpoints.infer: /v2/models/infer is a path of the HTTP interface itself"),
        ({"endpoints": {"stats": TABLES}}, "endpoints.stats: /v2/models/stats is a path of the HTTP interface itself"),
        ({"profiles": {"cuda": "x.csv"}}, "profiles.cuda is given, but no pool has that device; devices here: cpu"),
    ],
)
def test_a_wrong_config_is_refused_naming_the_field_the_value_and_the_remedy(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        app_config(config(**changes))


def test_others_have_a_queue_per_worker_unless_told() -> None:
    app = app_config(config())
    assert app.endpoints["digits"].balancing == "round_robin"
    assert AppConfig.model_validate(app.model_dump()) == app


def test_an_endpoint_is_served_by_all_pools_or_those_that_it_names() -> None:
    endpoints = {"a": {"task": "t", "slo_ms": 99}, "b": {"task": "t", "slo_ms": 99, "pools": ["two"]}}
    app = app_config({"endpoints": endpoints, "pools": {"one": {}, "two": {}}})
    assert list(app.pools_of("a")) == ["one", "two"]
    assert list(app.pools_of("b")) == ["two"]


def test_without_a_word_nobody_plans_and_there_is_one_router() -> None:
    app = app_config(config())
    assert app.controller.planner == "everywhere"
    assert app.controller.state is None
    assert app.routers == 1


@pytest.mark.parametrize(
    ("pool", "bounds"),
    [
        ({"workers": 2}, Bounds(2, 2)),
        ({"workers": 2, "max_workers": 5}, Bounds(2, 5)),
        ({"workers": 2, "min_workers": 0}, Bounds(0, 2)),
        ({"workers": 2, "min_workers": 1, "max_workers": 5}, Bounds(1, 5)),
        ({"workers": 0, "max_workers": 3}, Bounds(0, 3)),
    ],
)
def test_a_pool_has_as_many_workers_as_its_bounds_allow(pool: dict[str, int], bounds: Bounds) -> None:
    planned = {"controller": {"planner": "proteus"}}
    digits = {"digits": {"task": "digits", "slo_ms": 100, "selection": {"policy": "greedy"}}}
    made = app_config(config(pools={"cpu": pool}, endpoints=digits) | planned)
    assert made.pools["cpu"].bounds == bounds


def test_bounds_without_a_planner_to_choose_are_refused() -> None:
    with pytest.raises(ConfigError, match="planner 'everywhere' chooses no sizes"):
        app_config(config(pools={"cpu": {"workers": 2, "max_workers": 5}}))


def test_planner_proteus_goes_with_tables_and_with_fallback_variants() -> None:
    app = app_config(config(endpoints={"d": TABLES}, controller={"planner": "proteus", "proteus": {"fallback": 4}}))
    assert app.endpoints["d"].selection.policy == "ramsis"
    assert app.controller.proteus is not None
    assert app.controller.proteus.fallback == 4


def test_what_may_change_live_is_all_left_out_at_first_and_the_rest_is_refused() -> None:
    assert LiveChanges.model_validate({}) == LiveChanges(endpoints={}, pools={}, variants=())
    for wrong, words in (
        ({"endpoints": {"digits": {"task": "plates"}}}, "endpoints.digits.task"),
        ({"endpoints": {"digits": {"slo_ms": 0}}}, "endpoints.digits.slo_ms"),
        ({"pools": {"cpu": {"device": "cuda"}}}, "pools.cpu.device"),
        ({"catalogue": "builtin"}, "catalogue"),
    ):
        with pytest.raises(ValidationError, match=words):
            LiveChanges.model_validate(wrong)
