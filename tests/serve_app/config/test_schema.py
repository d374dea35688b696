"""What a config may say, and how a wrong one is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from autoscaler.loop.sizing import Bounds
from serve_app.config.live_changes import LiveChanges
from serve_app.config.schema import AppConfig


def config(**changes: Any) -> dict[str, Any]:
    return {
        "endpoints": {"digits": {"task": "digits", "slo_ms": 100}},
        "pools": {"cpu": {"workers": 2}},
    } | changes


PLANNED = {"digits": {"task": "digits", "slo_ms": 100, "selection": {"policy": "proteus"}}}


def test_the_shortest_config_has_sensible_defaults() -> None:
    app = AppConfig.model_validate(config())
    assert app.endpoints["digits"].selection.policy == "ramsis"
    assert app.endpoints["digits"].drop_late is False
    assert app.pools["cpu"].device == "cpu"
    assert app.catalogue == "builtin"
    assert app.controller.forecast is None


def test_forecasts_have_sensible_defaults() -> None:
    app = AppConfig.model_validate(config(endpoints=PLANNED, controller={"planner": "proteus", "forecast": {}}))
    forecast = app.controller.forecast
    assert forecast is not None
    assert (forecast.model, forecast.quantile, forecast.horizon_s) == ("deepar", 0.9, None)
    assert (forecast.retrain_every_s, forecast.history_s, forecast.max_age_s) == (86_400, 14 * 86_400, 7 * 86_400)
    assert app.pools["cpu"].start_up_s == 10.0


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
        ({"controller": {"forecast": {}}}, "planner 'everywhere' plans for no load; remove it, or use"),
        (
            {"controller": {"planner": "proteus", "forecast": {"model": "oracle"}}},
            "controller.forecast.model 'oracle' is unknown; use one of constant, deepar",
        ),
        ({"controller": {"planner": "proteus", "forecast": {"quantile": 1.0}}}, "less than or equal to 0.99"),
        ({"controller": {"planner": "proteus", "forecast": {"modle": "ewma"}}}, "Extra inputs are not permitted"),
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
            "selection.variant is 'x', but policy 'greedy' does without",
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
        ({"pools": {"cpu": {"workers": -1}}}, "pools.cpu.workers\n  Input should be greater than or equal to 0"),
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
        ({"pools": {"cpu": {"max_workers": 0}}}, "pools.cpu.max_workers\n  Input should be greater than or equal to 1"),
        ({"pools": {"cpu": {"memory_bytes": 0}}}, "pools.cpu.memory_bytes\n  Input should be greater than 0"),
        ({"pools": {"cpu": {"price_per_h": -1}}}, "pools.cpu.price_per_h\n  Input should be greater than or equal"),
        ({"pools": {"Controller": {}}}, "pools.Controller: the name is taken"),
        ({"routers": 0}, "routers\n  Input should be greater than or equal to 1"),
        ({"controller": {"planner": "best"}}, "controller.planner 'best' is unknown; use one of everywhere, proteus"),
        ({"controller": {"interval_s": 0}}, "controller.interval_s\n  Input should be greater than 0"),
        (
            {"controller": {"planner": "proteus"}},
            "endpoints.digits.selection.policy is 'ramsis', and the planner 'proteus' decides which variant a worker",
        ),
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


def by_ladder(*rungs: dict[str, Any], **endpoint: Any) -> dict[str, Any]:
    selection = {"policy": "load_ladder", "ladder": list(rungs)}
    return {"d": {"task": "t", "slo_ms": 99, "selection": selection} | endpoint}


@pytest.mark.parametrize("policy", ["jellyfish_plus", "model_switching", "load_ladder"])
def test_policies_by_load_take_batches_from_one_queue(policy: str) -> None:
    selection: dict[str, Any] = {"policy": policy}
    if policy == "load_ladder":
        selection["ladder"] = [{"below_qps": 500, "variant": "best", "max_rows": 16}, {"variant": "fast"}]
    endpoint = {"task": "t", "slo_ms": 99, "selection": selection}
    for given in (endpoint, endpoint | {"balancing": "central"}):
        assert AppConfig.model_validate(config(endpoints={"d": given})).endpoints["d"].balancing == "central"
    with pytest.raises(ValidationError, match=f"balancing is 'round_robin', and policy '{policy}' takes batches from"):
        AppConfig.model_validate(config(endpoints={"d": endpoint | {"balancing": "round_robin"}}))
    with pytest.raises(ValidationError, match=f"policy is '{policy}', and the planner 'proteus' decides which variant"):
        AppConfig.model_validate(config(endpoints={"d": endpoint}, controller={"planner": "proteus"}))


def test_others_have_a_queue_per_worker_unless_told() -> None:
    app = AppConfig.model_validate(config())
    assert app.endpoints["digits"].balancing == "round_robin"
    assert AppConfig.model_validate(app.model_dump()) == app


@pytest.mark.parametrize(
    ("endpoints", "message"),
    [
        (by_ladder(), "selection.ladder\n  Tuple should have at least 1 item"),
        (
            by_ladder({"variant": "best"}, {"variant": "fast"}),
            r"selection.ladder\[0\].below_qps is missing; only the last may do without it",
        ),
        (
            by_ladder({"below_qps": 9, "variant": "best"}),
            r"selection.ladder\[0\].below_qps is 9, and nothing serves higher loads; add a last one without below_qps",
        ),
        (
            by_ladder({"below_qps": 9, "variant": "a"}, {"below_qps": 9, "variant": "b"}, {"variant": "c"}),
            r"selection.ladder\[1\].below_qps is 9, no more than 9 before it; let them ascend",
        ),
        (by_ladder({"below_qps": 0, "variant": "a"}, {"variant": "b"}), "below_qps\n  Input should be greater than 0"),
        (by_ladder({"variant": "a", "max_rows": 0}), "max_rows\n  Input should be greater than or equal to 1"),
        (by_ladder({"variant": "a", "above_qps": 1}), "above_qps\n  Extra inputs are not permitted"),
        (
            {"d": {"task": "t", "slo_ms": 99, "selection": {"policy": "load_ladder"}}},
            "selection.ladder is missing; policy 'load_ladder' serves by it",
        ),
        (
            by_ladder({"variant": "a"}, selection={"policy": "greedy", "ladder": [{"variant": "a"}]}),
            "selection.ladder is given, but policy 'greedy' does without; remove it or use policy 'load_ladder'",
        ),
    ],
)
def test_a_wrong_ladder_is_refused_naming_the_rung_the_value_and_the_remedy(
    endpoints: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        AppConfig.model_validate(config(endpoints=endpoints))


def test_an_endpoint_is_served_by_all_pools_or_those_that_it_names() -> None:
    endpoints = {"a": {"task": "t", "slo_ms": 99}, "b": {"task": "t", "slo_ms": 99, "pools": ["two"]}}
    app = AppConfig.model_validate({"endpoints": endpoints, "pools": {"one": {}, "two": {}}})
    assert list(app.pools_of("a")) == ["one", "two"]
    assert list(app.pools_of("b")) == ["two"]


def test_without_a_word_nobody_plans_and_there_is_one_router() -> None:
    app = AppConfig.model_validate(config())
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
    made = AppConfig.model_validate(config(pools={"cpu": pool}, endpoints=digits) | planned)
    assert made.pools["cpu"].bounds == bounds


def test_bounds_without_a_planner_to_choose_are_refused() -> None:
    with pytest.raises(ValidationError, match="planner 'everywhere' chooses no sizes"):
        AppConfig.model_validate(config(pools={"cpu": {"workers": 2, "max_workers": 5}}))


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
