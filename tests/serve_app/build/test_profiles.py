"""Which variants are measured for which device, and what becomes of a config whose pools hold different ones."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.catalogue import Catalogue, load_catalogue
from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.tensor import TensorSpec
from catalog.variant import PYTHON, Artifact, Variant
from deployments.worker import measure_apart
from serve_app.build import profiles
from serve_app.build.assemble import assemble
from serve_app.build.candidates import candidates_of, stage_candidates
from serve_app.build.control import control_settings
from serve_app.build.profiles import profiles_for, variants_apart
from serve_app.config.emulation import emulate
from serve_app.config.schema import AppConfig
from toy_models import write_toy_catalogue

PROFILE = LatencyProfile("cpu", {1: BatchLatency(9, *[2.0] * 6)})
ENDPOINT = {"task": "toy", "slo_ms": 100, "selection": {"policy": "greedy"}, "variants": ["good", "brittle"]}
CPU: dict[str, Any] = {"variants": ["good"]}
GPU: dict[str, Any] = {"device": "cuda", "num_gpus": 1, "variants": ["brittle"]}
SERVED = {"cpu": {"good": PROFILE}, "cuda": {"brittle": PROFILE}}
"""Of each device only what its pool may hold."""

Measured = list[tuple[str, list[str]]]


def config(endpoints: Mapping[str, Any] | None = None, **changes: Any) -> AppConfig:
    """One endpoint, served by a pool of CPUs that may hold ``good`` and one of GPUs that may hold ``brittle``."""
    given = {"endpoints": endpoints or {"toy": ENDPOINT}, "pools": {"cpu": CPU, "gpu": GPU}}
    return AppConfig.model_validate(given | changes)


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return load_catalogue(write_toy_catalogue(tmp_path))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Device and names of every measurement in this process, which are not made."""
    seen: Measured = []

    def here(variants: Iterable[Variant], root: str, device: str, threads: int, **_: Any) -> dict[str, LatencyProfile]:
        names = [variant.name for variant in variants]
        seen.append((device, names))
        return dict.fromkeys(names, PROFILE)

    monkeypatch.setattr(profiles, "measured_profiles", here)
    return seen


def with_a_class(catalogue: Catalogue) -> Catalogue:
    """``brittle`` is a class of the user's."""
    own = replace(catalogue.variant("brittle"), runtime=PYTHON, artifact=Artifact(import_path="models:Brittle"))
    return replace(catalogue, variants=tuple(own if own.name == v.name else v for v in catalogue.variants))


def test_a_variant_is_measured_on_devices_alone_whose_pools_may_hold_it(
    catalogue: Catalogue, measured: Measured
) -> None:
    assert profiles_for(config(), catalogue) == SERVED
    assert measured == [("cpu", ["good"]), ("cuda", ["brittle"])]


def test_what_a_pool_may_hold_for_no_endpoint_is_not_measured_for_its_device(
    catalogue: Catalogue, measured: Measured
) -> None:
    endpoints = {
        "one": ENDPOINT | {"variants": ["good"], "pools": ["cpu"]},
        "two": ENDPOINT | {"variants": ["brittle"], "pools": ["gpu"]},
    }
    profiles_for(config(endpoints, pools={"cpu": {}, "gpu": GPU | {"variants": None}}), catalogue)
    assert measured == [("cpu", ["good"]), ("cuda", ["brittle"])]


def test_a_class_of_a_pool_with_its_own_environment_is_imported_nowhere_else(
    catalogue: Catalogue, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[tuple[str, list[str]]] = []

    def apart(variants: Iterable[Variant], _: str, around: measure_apart.Surroundings, *__: Any) -> dict[str, Any]:
        names = [variant.name for variant in variants]
        there.append((around.pool, names))
        return dict.fromkeys(names, PROFILE)

    monkeypatch.setattr(measure_apart, "profiles_apart", apart)
    own = with_a_class(catalogue)
    given = config(pools={"cpu": CPU, "gpu": GPU | {"runtime_env": {"env_vars": {"SHOP": "berlin"}}}})
    assert {name: [each.name for each in found] for name, found in variants_apart(given, own).items()} == {
        "gpu": ["brittle"]
    }
    assert profiles_for(given, own) == SERVED
    assert (measured, there) == ([("cpu", ["good"]), ("cuda", [])], [("gpu", ["brittle"])])


def test_a_pool_that_holds_a_class_for_no_endpoint_does_not_make_it_one_of_the_plain_environment(
    catalogue: Catalogue,
) -> None:
    endpoints = {"one": ENDPOINT | {"pools": ["mine"]}, "two": ENDPOINT | {"variants": ["good"], "pools": ["plain"]}}
    pools = {"plain": {}, "mine": {"runtime_env": {"env_vars": {"SHOP": "berlin"}}}}
    apart = variants_apart(config(endpoints, pools=pools), with_a_class(catalogue))
    assert {name: [each.name for each in found] for name, found in apart.items()} == {"mine": ["brittle"]}


def test_a_type_of_device_needs_no_file_where_its_pools_hold_nothing_for_any_endpoint(
    catalogue: Catalogue, measured: Measured
) -> None:
    endpoints = {"toy": ENDPOINT | {"variants": ["good"], "pools": ["cpu"]}}
    pools = {"cpu": CPU, "gpu": {"device": "cuda-a100", "num_gpus": 1}}
    assert profiles_for(config(endpoints, pools=pools), catalogue)["cuda-a100"] == {}


def test_a_file_of_profiles_needs_no_more_variants_than_pools_of_the_device_may_hold(
    catalogue: Catalogue, measured: Measured, tmp_path: Path
) -> None:
    write_profiles(tmp_path / "gpu.csv", {"brittle": ProfiledVariant(80.0, PROFILE)})
    given = config(profiles={"cuda": str(tmp_path / "gpu.csv")})
    found = profiles_for(given, catalogue)
    made = assemble(given, catalogue, found)
    candidates = made.plan.endpoints["toy"].stage.candidates
    assert {device: [c.variant for c in own] for device, own in candidates.items()} == {
        "cpu": ["good"],
        "cuda": ["brittle"],
    }
    assert {name: [v.name for v in spec.variants] for name, spec in made.workers.items()} == {
        "cpu": ["good"],
        "gpu": ["brittle"],
    }
    assert control_settings(given, catalogue, found).profiled_s.keys() == {("cpu", "good"), ("gpu", "brittle")}


def test_a_profile_that_some_pool_of_the_device_needs_is_still_asked_for(catalogue: Catalogue) -> None:
    given = config(pools={"cpu": CPU, "gpu": GPU, "other": GPU | {"variants": ["good"]}})
    with pytest.raises(ConfigError, match=r"profiles\.cuda has no variant 'good'; measure it"):
        candidates_of("toy", given, catalogue, SERVED)


def test_a_device_whose_pools_hold_no_variant_of_an_endpoint_has_no_candidates_of_it(catalogue: Catalogue) -> None:
    endpoints = {"toy": ENDPOINT | {"variants": ["good"]}, "other": ENDPOINT | {"variants": ["brittle"]}}
    given = config(endpoints)
    assert {name: list(candidates_of(name, given, catalogue, SERVED)) for name in endpoints} == {
        "toy": ["cpu"],
        "other": ["cuda"],
    }
    made = assemble(given, catalogue, SERVED)
    assert {name: [v.name for v in spec.variants] for name, spec in made.workers.items()} == {
        "cpu": ["good"],
        "gpu": ["brittle"],
    }


def test_variants_are_emulated_by_the_profiles_that_there_are(catalogue: Catalogue) -> None:
    emulated = emulate(config(emulate={}), catalogue, SERVED)
    folder = Path(emulated.variant("good").artifact.uri)
    assert {each.name: "good" in each.read_text() for each in folder.iterdir()} == {"cpu.csv": True, "cuda.csv": False}
    assert profiles_for(config(), emulated).keys() == {"cpu", "cuda"}


# -- variants that no pool may hold -------------------------------------------------------------------------------


def test_a_variant_that_no_pool_may_hold_is_warned_of(catalogue: Catalogue, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assemble(config(), catalogue, SERVED)
        assert caplog.text == ""
        assemble(config(pools={"cpu": CPU}), catalogue, SERVED)
    assert "endpoints.toy: none of its pools may hold brittle, which never answer" in caplog.text
    assert "leave out of endpoints.toy.variants" in caplog.text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variants": ["brittle"]}, "endpoints.toy: none of its pools may hold any of its variants"),
        (
            {"selection": {"policy": "fixed", "variant": "brittle"}},
            "endpoints.toy.selection.variant: none of its pools may hold brittle; add to pools.NAME.variants",
        ),
    ],
)
def test_an_endpoint_that_needs_a_variant_which_no_pool_may_hold_is_refused(
    catalogue: Catalogue, changes: dict[str, Any], message: str
) -> None:
    endpoints = {"toy": ENDPOINT | changes, "other": ENDPOINT | {"variants": ["good"]}}
    given = config(endpoints, pools={"cpu": CPU})
    with pytest.raises(ConfigError, match=message):
        assemble(given, catalogue, SERVED)


def test_an_ensemble_with_a_member_that_no_pool_may_hold_is_refused() -> None:
    digits = load_catalogue("builtin")
    held, other = (variant.name for variant in digits.of_task("digits")[:2])
    endpoint = {"task": "digits", "slo_ms": 100, "ensemble": {}, "variants": [held, other]}
    given = config({"digits": endpoint}, pools={"cpu": {"variants": [held]}})
    with pytest.raises(
        ConfigError, match=f"endpoints.digits.ensemble: none of its pools may hold {other}, of its members"
    ):
        assemble(given, digits, {"cpu": {held: PROFILE}})


def test_a_stage_of_a_pipeline_whose_variants_no_pool_may_hold_is_refused(catalogue: Catalogue) -> None:
    stages = {
        "first": {"task": "toy", "variants": ["good"], "inputs": {"x": "query.x"}},
        "second": {"task": "toy", "variants": ["brittle"], "inputs": {"x": "first.y"}},
    }
    endpoint = {"slo_ms": 100, "pipeline": {"stages": stages}}
    controller = {"planner": "ipa"}
    given = config({"toy": endpoint}, controller=controller)
    found = stage_candidates("toy", given, catalogue, SERVED)
    assert {stage: list(own) for stage, own in found.items()} == {"first": ["cpu"], "second": ["cuda"]}
    with pytest.raises(ConfigError, match=r"endpoints\.toy\.pipeline\.stages\.second: none of its pools may hold any"):
        assemble(config({"toy": endpoint}, controller=controller, pools={"cpu": CPU}), catalogue, SERVED)


MEASURE = "measure it with `accord profile --catalogue mine.yaml --device {} --output FILE.csv`"


@pytest.mark.parametrize(
    ("device", "runtime", "words"),
    [
        ("cpu", "onnx", f"{MEASURE.format('cpu')}, or leave profiles.cpu out to have everything measured"),
        ("cuda-a100", "onnx", f"{MEASURE.format('cuda')}$"),
        ("cpu", "stacked", "add rows of that name to mine.csv, or leave profiles.cpu out to have everything measured"),
        ("cuda-a100", "stacked", "add rows of that name to mine.csv$"),
    ],
)
def test_of_a_variant_without_a_profile_it_is_said_what_gives_it_one(device: str, runtime: str, words: str) -> None:
    x, y = TensorSpec("x", "FP32", (-1,)), TensorSpec("y", "FP32", (-1,))
    given = Variant("one+two", "toy", runtime, Artifact("a.onnx"), 0.9, (x,), (y,))
    stacked = {"stacked": {"sets": [["one", "two"]]}} if runtime == "stacked" else {}
    pool = {"device": device} if device == "cpu" else {"device": device, "num_gpus": 1}
    made = config(
        {"toy": ENDPOINT | {"variants": None} | stacked},
        pools={"one": pool},
        profiles={device: "mine.csv"},
        catalogue="mine.yaml",
    )
    with pytest.raises(ConfigError, match=rf"profiles.{device} has no variant 'one\+two'; {words}"):
        candidates_of("toy", made, Catalogue((given,), ""), {device: {}})
