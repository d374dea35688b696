"""What the controller is told of a config, and what a config may change later."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from controller_parts import endpoint, pool, settings
from forecast_scene import forecast, forecasting, saved, trained, waves
from pydantic import ValidationError

from autoscaler.loop.sizing import Bounds
from autoscaler.planners.proteus.options import ProteusOptions
from catalog.catalogue import Catalogue, load_catalogue
from catalog.errors import ArtifactError, ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from deployments.messages.control_settings import PoolSettings
from serve_app.build.candidates import within_pools, within_some_pool
from serve_app.build.control import changed, control_settings
from serve_app.config.live_changes import LiveChanges
from serve_app.config.schema import AppConfig
from toy_models import write_toy_catalogue

PROTEUS = {"policy": "adaptive_batching"}


def profiles(*names: str) -> dict[str, dict[str, LatencyProfile]]:
    measured = {n: BatchLatency(9, *[2.0 * n] * 6) for n in (1, 2)}
    return {"cpu": {name: LatencyProfile("cpu", measured) for name in names}}


def config(endpoints: Mapping[str, Any] | None = None, **changes: Any) -> AppConfig:
    given = {
        "endpoints": endpoints or {"toy": {"task": "toy", "slo_ms": 100, "selection": PROTEUS}},
        "pools": {
            "small": {"workers": 2, "threads": 2},
            "large": {"min_workers": 0, "max_workers": 4, "memory_bytes": 1e9, "threads": 2},
        },
        "controller": {"planner": "proteus", "interval_s": 5, "state": "s3://bucket/state"},
    }
    return AppConfig.model_validate(given | changes)


def of(app: AppConfig, folder: Path) -> Any:
    return control_settings(app, load_catalogue(write_toy_catalogue(folder)), profiles("good", "brittle", "corrupt"))


def test_what_is_kept_for_batches_is_no_memory_for_models_and_limits_rows(tmp_path: Path) -> None:
    loaded = load_catalogue(write_toy_catalogue(tmp_path))
    large = Catalogue(tuple(replace(each, row_bytes=1000) for each in loaded.variants), loaded.root)
    pools = {"small": {"memory_bytes": 1e6, "batch_bytes": 3000}, "large": {"batch_bytes": 1e6}}
    made = control_settings(config(pools=pools), large, profiles("good", "brittle", "corrupt"))
    assert (made.pools["small"].memory_bytes, made.pools["small"].batch_bytes) == (997_000, 3000)
    assert (made.pools["large"].memory_bytes, made.pools["large"].batch_bytes) == (inf, 1e6)
    assert (len(made.profiled_s["small", "good"]), len(made.profiled_s["large", "good"])) == (4, 65)


def test_a_pool_that_runs_a_variant_for_no_endpoint_does_not_limit_it(tmp_path: Path) -> None:
    loaded = load_catalogue(write_toy_catalogue(tmp_path))
    large = Catalogue(tuple(replace(each, row_bytes=1000) for each in loaded.variants), loaded.root)
    pools = {"small": {"batch_bytes": 10}, "large": {}}
    made = control_settings(
        config({"toy": {"task": "toy", "slo_ms": 100, "selection": PROTEUS, "pools": ["large"]}}, pools=pools),
        large,
        profiles("good", "brittle", "corrupt"),
    )
    assert {key: len(runs_s) for key, runs_s in made.profiled_s.items()} == {
        ("large", name): 65 for name in ("good", "brittle", "corrupt")
    }


def test_profiles_go_as_far_as_the_pool_with_the_most_memory_runs(tmp_path: Path) -> None:
    loaded = load_catalogue(write_toy_catalogue(tmp_path))
    good = replace(loaded.variant("good"), row_bytes=1000)
    pools = config(pools={"small": {"batch_bytes": 1000}, "middle": {"batch_bytes": 7000}}).pools
    assert within_some_pool(good, pools).max_batch == 7
    assert within_pools(good, pools).max_batch == 1
    assert within_some_pool(good, {}).max_batch == good.max_batch


def changes(**given: Any) -> LiveChanges:
    return LiveChanges.model_validate(given)


def test_a_config_tells_the_controller_all_that_it_plans_with(tmp_path: Path) -> None:
    made = of(
        config(
            {
                "toy": {"task": "toy", "slo_ms": 100, "selection": PROTEUS, "drop_late": True, "max_queued_rows": 7},
                "one": {
                    "task": "toy",
                    "slo_ms": 50,
                    "selection": PROTEUS,
                    "variants": ["good"],
                    "pools": ["large"],
                },
            }
        ),
        tmp_path,
    )
    assert (made.planner, made.interval_s, made.state, made.transport_s) == ("proteus", 5.0, "s3://bucket/state", 0.01)
    assert made.endpoints == {
        "toy": endpoint(task="toy", slo_s=0.1, max_queued_rows=7, pools=("small", "large")),
        "one": endpoint(
            task="toy", slo_s=0.05, drop_late=False, max_queued_rows=2000, variants=("good",), pools=("large",)
        ),
    }
    assert made.pools == {
        "small": PoolSettings("cpu", 2, Bounds(2, 2), threads=2),
        "large": PoolSettings("cpu", 1, Bounds(0, 4), 1e9, threads=2),
    }
    assert made.profiled_s.keys() == {
        (name, of) for name in ("small", "large") for of in ("good", "brittle", "corrupt")
    }
    assert made.profiled_s["small", "good"][:3] == pytest.approx((0.0, 0.002, 0.004))
    assert made.memory_bytes["corrupt"] == (tmp_path / "corrupt.onnx").stat().st_size


def test_workers_wait_for_results_where_the_policy_does(tmp_path: Path) -> None:
    app = config(
        {"toy": {"task": "toy", "slo_ms": 100, "selection": {"policy": "aimd"}}}, controller={"planner": "proteus"}
    )
    assert not of(app, tmp_path).endpoints["toy"].launches_ahead


@pytest.mark.parametrize("memory_bytes", [None, 1e9])
def test_without_a_planner_endpoints_choose_by_tables_and_memory_matters_where_it_is_limited(
    tmp_path: Path, memory_bytes: float | None
) -> None:
    pools = {"small": {"workers": 2, "memory_bytes": memory_bytes}}
    app = config({"toy": {"task": "toy", "slo_ms": 100}}, controller={}, pools=pools)
    made = of(app, tmp_path)
    assert made.planner == "everywhere"
    assert made.state == ""
    assert made.endpoints["toy"].by_tables
    assert made.endpoints["toy"].launches_ahead
    assert made.memory_bytes.keys() == ({variant.name for variant in made.variants} if memory_bytes else set())


@pytest.mark.parametrize(("memory_bytes", "more_bytes"), [(1e9, 150_000_000), (None, 0)])
def test_what_sessions_take_of_gpus_counts_where_those_are_limited(
    tmp_path: Path, memory_bytes: float | None, more_bytes: int
) -> None:
    gpus = {"device": "cuda", "num_gpus": 0.5, "memory_bytes": memory_bytes}
    app = config(pools={"small": {"memory_bytes": 1e9}, "large": gpus})
    by_device = {device: profiles("good", "brittle", "corrupt")["cpu"] for device in ("cpu", "cuda")}
    made = control_settings(app, load_catalogue(write_toy_catalogue(tmp_path)), by_device)
    assert made.memory_bytes["good"] == (tmp_path / "good.onnx").stat().st_size + more_bytes


def test_what_only_runs_on_cpus_beside_gpus_takes_its_files(tmp_path: Path) -> None:
    gpus = {"device": "cuda", "num_gpus": 0.5, "memory_bytes": 1e9, "variants": ["brittle"]}
    app = config(pools={"small": {"memory_bytes": 1e9}, "large": gpus})
    by_device = {device: profiles("good", "brittle", "corrupt")["cpu"] for device in ("cpu", "cuda")}
    made = control_settings(app, load_catalogue(write_toy_catalogue(tmp_path)), by_device)
    sizes = {name: (tmp_path / f"{name}.onnx").stat().st_size for name in ("good", "brittle")}
    assert made.memory_bytes["good"] == sizes["good"]
    assert made.memory_bytes["brittle"] == sizes["brittle"] + 150_000_000


def test_forecasts_are_as_the_config_says_with_models_that_can_be_had(tmp_path: Path) -> None:
    uri = saved(trained(waves(3600)), tmp_path)
    controller = {"planner": "proteus", "forecast": {"model": "linear", "artifacts": {"toy": uri}, "horizon_s": 60}}
    pools = {"cpu": {"workers": 2, "start_up_s": 45}}
    made = of(config(controller=controller, pools=pools), tmp_path)
    assert made.forecast == forecast(artifacts={"toy": uri}, horizon_s=60.0)
    assert made.pools["cpu"].start_up_s == 45.0
    assert of(config(), tmp_path).forecast is None
    Path(uri).unlink()
    with pytest.raises(ArtifactError, match=f"cannot read the forecaster {uri}"):
        of(config(controller=controller), tmp_path)


def test_the_quantile_to_plan_for_changes() -> None:
    after = changed(forecasting(), changes(forecast={"quantile": 0.5}))
    assert after == forecasting(quantile=0.5)
    assert changed(forecasting(), changes(forecast={})) == forecasting()


def test_objectives_and_queues_change() -> None:
    before = settings({"digits": endpoint(), "urgent": endpoint(slo_s=0.1)})
    after = changed(before, changes(endpoints={"urgent": {"slo_ms": 80, "drop_late": False, "max_queued_rows": 9}}))
    assert after.endpoints["urgent"] == endpoint(slo_s=0.08, drop_late=False, max_queued_rows=9)
    assert after.endpoints["digits"] == before.endpoints["digits"]
    assert changed(before, changes()) == before


@pytest.mark.parametrize(
    ("before", "change", "workers", "bounds"),
    [
        (pool(2), {"workers": 5}, 5, Bounds(5, 5)),
        (pool(2), {"workers": 0}, 0, Bounds(0, 0)),
        (pool(2), {"max_workers": 5}, 2, Bounds(2, 5)),
        (pool(2), {"min_workers": 0}, 2, Bounds(0, 2)),
        (pool(2), {"workers": 3, "max_workers": 5}, 3, Bounds(2, 5)),
        (pool(2, 1, 4), {"workers": 3}, 3, Bounds(3, 3)),
        (pool(2, 1, 4), {"min_workers": 3}, 3, Bounds(3, 4)),
        (pool(2, 1, 4), {"max_workers": 1}, 1, Bounds(1, 1)),
        (pool(2, 1, 8), {}, 2, Bounds(1, 8)),
        (pool(2, 1, 8), {"workers": None, "min_workers": None, "max_workers": None}, 2, Bounds(1, 8)),
        (pool(2), {}, 2, Bounds(2, 2)),
    ],
)
def test_pools_change_in_size(
    before: PoolSettings, change: dict[str, int | None], workers: int, bounds: Bounds
) -> None:
    after = changed(settings(pools={"cpu": before}), changes(pools={"cpu": change})).pools["cpu"]
    assert (after.workers, after.bounds) == (workers, bounds)
    assert after.memory_bytes == before.memory_bytes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"endpoints": {"letters": {"slo_ms": 9}}}, "endpoints.letters is no endpoint; there are digits"),
        ({"endpoints": {"digits": {"slo_ms": 2}}}, r"digits.slo_ms is 2, no more than transport_ms \(2\)"),
        ({"pools": {"gpu": {"workers": 1}}}, "pools.gpu is no pool; there are cpu"),
        ({"forecast": {"quantile": 0.5}}, "user_config.forecast is given, but nothing is forecast; add"),
        ({"pools": {"cpu": {"min_workers": 4, "max_workers": 2}}}, "user_config.pools.cpu: .*min_workers"),
    ],
)
def test_a_wrong_change_is_refused_naming_field_and_remedy(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        changed(settings(), changes(**change))


@pytest.mark.parametrize("change", [{"max_workers": 4}, {"min_workers": 1}, {"workers": 3, "min_workers": 1}])
def test_bounds_are_refused_where_the_planner_chooses_no_sizes(change: dict[str, int]) -> None:
    before = settings(planner="everywhere")
    with pytest.raises(ConfigError, match=r"pools.cpu has min_workers .*'everywhere'.*planner proteus, ipa"):
        changed(before, changes(pools={"cpu": change}))
    assert changed(before, changes(pools={"cpu": {"workers": 3}})).pools["cpu"].bounds == Bounds(3, 3)
    assert changed(before, changes(pools={"cpu": {"min_workers": 3, "max_workers": 3}})).pools["cpu"].workers == 3


def test_what_the_planner_weighs_is_what_the_config_says(tmp_path: Path) -> None:
    given = {"headroom": 1.2, "deviations": 0.5, "tolerance": 0.01, "room_down_to": 0.9, "accuracy": "normalised"}
    controller = {"planner": "proteus", "proteus": given}
    made = of(config(controller=controller), tmp_path)
    assert made.proteus == ProteusOptions(
        headroom=1.2, deviations=0.5, tolerance=0.01, room_down_to=0.9, accuracy="normalised"
    )
    assert of(config(), tmp_path).proteus == ProteusOptions()


def test_an_accuracy_that_the_planner_does_not_know_is_refused() -> None:
    with pytest.raises(ValidationError, match="normalised"):
        config(controller={"planner": "proteus", "proteus": {"accuracy": "best"}})
