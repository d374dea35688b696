"""From a config, a catalogue and profiles to what is deployed."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.catalogue import Catalogue, load_catalogue
from catalog.errors import ConfigError
from catalog.lengths import Lengths
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.tensor import TensorSpec
from catalog.user_code.any_bytes import take_any_bytes
from catalog.variant import PYTHON, Artifact, Variant
from dispatch.balancing.shortest_queue import ShortestQueue
from dispatch.selection.ramsis.policy import RamsisSelection
from serve_app.build.assemble import assemble, resolve_paths
from serve_app.build.candidates import Profiles, served_variants
from serve_app.build.tables import grids_for, problems_for
from serve_app.config.controller import ControllerConfig
from serve_app.config.planning.forecast import ForecastConfig
from serve_app.config.pool import PoolConfig
from serve_app.config.schema import AppConfig
from toy_models import write_toy_catalogue

PROFILE = LatencyProfile("cpu", {1: BatchLatency(10, 2, 0, 2, 2, 2, 2), 64: BatchLatency(10, 65, 0, 65, 65, 65, 65)})
PROFILES: Profiles = {"cpu": dict.fromkeys(("corrupt", "brittle", "good"), PROFILE)}


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return load_catalogue(write_toy_catalogue(tmp_path_factory.mktemp("assemble")))


def config(**endpoint: Any) -> AppConfig:
    endpoints = {"toy": {"task": "toy", "slo_ms": 100, "selection": {"policy": "greedy"}} | endpoint}
    return AppConfig.model_validate({"endpoints": endpoints, "pools": {"cpu": {}}})


def test_candidates_hold_the_profile_plus_the_transport(catalogue: Catalogue) -> None:
    plan = assemble(config(), catalogue, PROFILES, {}).plan.endpoints["toy"]
    assert plan.slo_s == pytest.approx(0.1)
    good = next(c for c in plan.stage.candidates["cpu"] if c.variant == "good")
    assert good.latency_s[1] == pytest.approx(0.012)
    assert good.latency_s[64] == pytest.approx(0.075)
    assert good.max_batch == 64


def test_an_endpoint_may_keep_to_some_variants(catalogue: Catalogue) -> None:
    chosen = config(variants=["good", "brittle"])
    assembly = assemble(chosen, catalogue, PROFILES, {})
    offered = assembly.plan.endpoints["toy"].stage.candidates["cpu"]
    assert tuple(candidate.variant for candidate in offered) == ("brittle", "good")
    assert [v.name for v in assembly.workers["cpu"].variants] == ["brittle", "good"]
    assert [v.name for v in served_variants(chosen, catalogue)] == ["brittle", "good"]


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        ({"task": "speech"}, "endpoints.toy.task: no variant does task 'speech'; the catalogue has toy"),
        ({"variants": ["best"]}, "endpoints.toy.variants: 'best' does not do task 'toy'; its variants are brittle"),
        ({"variants": []}, "endpoints.toy.variants is empty"),
        (
            {"selection": {"policy": "fixed", "variant": "best"}},
            "endpoints.toy.selection.variant: 'best' does not serve this endpoint; choose one of corrupt, ",
        ),
    ],
)
def test_a_config_that_does_not_fit_the_catalogue_is_refused_naming_the_field(
    catalogue: Catalogue, endpoint: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        assemble(config(**endpoint), catalogue, PROFILES, {})


def test_batches_are_as_large_as_the_memory_kept_for_them_takes(catalogue: Catalogue) -> None:
    large = Catalogue(tuple(replace(each, row_bytes=1000) for each in catalogue.variants), catalogue.root)

    def limited(batch_bytes: float) -> AppConfig:
        return config().model_copy(update={"pools": {"cpu": PoolConfig(batch_bytes=batch_bytes), "free": PoolConfig()}})

    made = assemble(limited(5999), large, PROFILES, {})
    assert {each.max_batch for each in made.plan.endpoints["toy"].stage.candidates["cpu"]} == {5}
    assert made.endpoints["toy"].max_rows == 5
    assert assemble(limited(5999), catalogue, PROFILES, {}).endpoints["toy"].max_rows == 64
    with pytest.raises(
        ConfigError, match=r"pools.cpu.batch_bytes: variant '\w+': one row takes 1000 bytes .* are 999 for"
    ):
        assemble(limited(999), large, PROFILES, {})


def test_profiles_without_a_variant_are_refused_with_the_remedy(catalogue: Catalogue) -> None:
    with pytest.raises(ConfigError, match="has no variant 'corrupt'; measure it with `accord profile --catalogue"):
        assemble(config(), catalogue, {"cpu": {"good": PROFILE, "brittle": PROFILE}}, {})


def test_paths_are_relative_to_where_the_service_is_started() -> None:
    given = AppConfig.model_validate(
        {
            "catalogue": "models/catalogue.yaml",
            "profiles": {"cpu": "p.csv"},
            "endpoints": {"toy": {"task": "toy", "slo_ms": 100}},
            "pools": {"cpu": {}},
        }
    )
    resolved = resolve_paths(given, Path("/srv"))
    assert (resolved.catalogue, resolved.profiles) == ("/srv/models/catalogue.yaml", {"cpu": "/srv/p.csv"})
    assert resolve_paths(config(), Path("/srv")).catalogue == "builtin"


def test_models_of_forecasters_are_found_from_the_folder_too() -> None:
    artifacts = {"toy": "models/load.safetensors"}
    given = config().model_copy(
        update={"controller": ControllerConfig(planner="proteus", forecast=ForecastConfig(artifacts=artifacts))}
    )
    forecast = resolve_paths(given, Path("/srv")).controller.forecast
    assert forecast is not None
    assert forecast.artifacts == {"toy": "/srv/models/load.safetensors"}
    assert resolve_paths(config(), Path("/srv")).controller.forecast is None


@pytest.mark.parametrize(
    ("state", "resolved"),
    [("state.db", "/srv/state.db"), ("~/state.db", "/home/me/state.db"), ("s3://~/state", "s3://~/state")],
)
def test_the_state_is_in_the_home_that_is_asked_for(state: str, resolved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    given = config().model_copy(update={"controller": ControllerConfig(state=state)})
    assert resolve_paths(given, Path("/srv")).controller.state == resolved


def test_every_path_may_begin_with_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    key, token = {"file": "~/shop.key"}, {"file": "~/jwt.pem", "algorithm": "RS256", "issuer": "i", "audience": "a"}
    given = AppConfig.model_validate(
        {
            "catalogue": "~/models/catalogue.yaml",
            "profiles": {"cpu": "~/p.csv"},
            "endpoints": {"toy": {"task": "toy", "slo_ms": 100, "ensemble": {"votes": "~/votes.csv"}}},
            "pools": {"cpu": {}},
            "security": {"api_keys": {"shop": key}, "jwt": token},
            "artifacts": {"allowed": ["~/models", "https://host/~/"]},
        }
    )
    resolved = resolve_paths(given, Path("/srv"))
    assert (resolved.catalogue, resolved.profiles) == ("/home/me/models/catalogue.yaml", {"cpu": "/home/me/p.csv"})
    assert resolved.endpoints["toy"].ensemble is not None
    assert resolved.endpoints["toy"].ensemble.votes == "/home/me/votes.csv"
    assert resolved.security.api_keys["shop"].file == "/home/me/shop.key"
    assert resolved.security.jwt is not None
    assert resolved.security.jwt.file == "/home/me/jwt.pem"
    assert resolved.artifacts.allowed == ("/home/me/models", "https://host/~/")


def test_a_home_that_is_not_there_is_named() -> None:
    given = config().model_copy(update={"controller": ControllerConfig(state="~nobody-at-all/state.db")})
    with pytest.raises(ConfigError, match=r"'~nobody-at-all/state.db'.*absolute path"):
        resolve_paths(given, Path("/srv"))


TWO_OBJECTIVES = {
    "endpoints": {
        "strict": {"task": "toy", "slo_ms": 100, "pools": ["one"]},
        "loose": {"task": "toy", "slo_ms": 300, "pools": ["two", "three"], "balancing": "shortest_queue"},
        "plain": {"task": "toy", "slo_ms": 300, "pools": ["four"], "selection": {"policy": "greedy"}},
    },
    "pools": {"one": {}, "two": {"workers": 2}, "three": {}, "four": {}},
}


def test_tables_are_made_for_each_objective_and_the_workers_of_its_pools(catalogue: Catalogue) -> None:
    problems = problems_for(AppConfig.model_validate(TWO_OBJECTIVES), catalogue, PROFILES)
    assert problems.keys() == {"strict", "loose"}
    strict, loose = problems["strict"]["cpu"], problems["loose"]["cpu"]
    assert (strict.slo_s, strict.workers, strict.balancing) == (0.1, 1, "round_robin")
    assert (loose.slo_s, loose.workers, loose.balancing) == (0.3, 3, "shortest_queue")
    assert strict.formulation == "per_query"


def test_an_arrival_aware_endpoint_gets_its_tables_and_loads_what_they_choose_from(catalogue: Catalogue) -> None:
    given = AppConfig.model_validate(
        {
            "endpoints": {
                "toy": {"task": "toy", "slo_ms": 100, "pools": ["one"], "balancing": "shortest_queue"},
                "all": {"task": "toy", "slo_ms": 100, "pools": ["two"], "selection": {"policy": "greedy"}},
            },
            "pools": {"one": {}, "two": {}},
        }
    )
    seen: list[tuple[str, int, int]] = []
    grids = grids_for(given, catalogue, PROFILES, lambda *progress: seen.append(progress))
    assembly = assemble(given, catalogue, PROFILES, grids)
    plan = assembly.plan.endpoints["toy"]
    assert isinstance(plan.stage.selection, RamsisSelection)
    assert isinstance(plan.stage.balancer, ShortestQueue)
    assert plan.stage.pools == {"one"}
    # All profiles are alike, so that the most accurate variant is the front.
    best = max(catalogue.variants, key=lambda v: v.accuracy).name
    assert [c.variant for c in plan.stage.candidates["cpu"]] == [best]
    assert tuple(c.variant for c in assembly.plan.endpoints["toy"].stage.candidates["cpu"]) == (best,)
    assert [v.name for v in assembly.workers["one"].variants] == [best]
    assert len(assembly.workers["two"].variants) == 3
    assert seen[-1][0] == "toy"
    assert seen[-1][1] == seen[-1][2]


def test_arrival_aware_endpoints_that_share_workers_are_warned_of(
    catalogue: Catalogue, caplog: pytest.LogCaptureFixture
) -> None:
    endpoints = {
        name: {"task": "toy", "slo_ms": slo_ms, "balancing": "shortest_queue"}
        for name, slo_ms in (("a", 100), ("b", 100), ("c", 100))
    }
    shared = AppConfig.model_validate({"endpoints": endpoints, "pools": {"cpu": {}}})
    with caplog.at_level(logging.WARNING):
        assemble(shared, catalogue, PROFILES, grids_for(shared, catalogue, PROFILES))
    assert "Endpoints a, b and c share the workers of pool cpu, which policy 'ramsis' was made for" in caplog.text
    assert caplog.text.count("share the workers") == 1


def test_workers_are_told_their_type_of_machine_where_the_config_names_it(catalogue: Catalogue) -> None:
    pools = {"named": {"machine": "as measured"}, "plain": {}}
    app = AppConfig.model_validate({"endpoints": {"toy": {"task": "toy", "slo_ms": 100}}, "pools": pools})
    specs = assemble(app, catalogue, PROFILES, {}).workers
    assert (specs["named"].machine, specs["plain"].machine) == ("as measured", "")


def test_any_bytes_reach_classes_of_ones_own_alone() -> None:
    texts = (TensorSpec("x", "BYTES", (-1,)),)

    def of(runtime: str, lengths: Lengths | None = None) -> Variant:
        artifact = Artifact(import_path="models:Own") if runtime == PYTHON else Artifact("v")
        return Variant("v", "t", runtime, artifact, 0.5, texts, (TensorSpec("y", "FP32", (-1,)),), lengths=lengths)

    assert take_any_bytes([of(PYTHON), of(PYTHON)])
    assert not take_any_bytes([of(PYTHON), of("onnx")])
    assert not take_any_bytes([of(PYTHON, Lengths(64))])
