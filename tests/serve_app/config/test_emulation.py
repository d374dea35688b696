"""A config that is rehearsed: what becomes of its catalogue, its reservations and its marks."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from catalog.catalogue import Catalogue, load_catalogue
from catalog.errors import ArtifactError, ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.store import FsspecStore
from deployments.messages.control import RoutingTable
from deployments.router.router import Router
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.emulated_runtime import emulated_profile
from deployments.runtimes.registry import create
from serve_app.build.assemble import assemble, resolve_paths
from serve_app.build.candidates import Profiles
from serve_app.build.profiles import profiles_for
from serve_app.cli.config_file import read_serve_file, write_served
from serve_app.config.emulation import emulate, log_emulated
from serve_app.config.reservations import with_light_reservations
from serve_app.config.schema import AppConfig
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.http.variant_marks import emulated_variants, mark_status
from toy_models import write_toy_catalogue


def profile(device: str, ms: float) -> LatencyProfile:
    return LatencyProfile(device, {1: BatchLatency(9, ms, 0, ms, ms, ms, ms)})


NAMES = ("corrupt", "brittle", "good")
PROFILES: Profiles = {
    "cpu": dict.fromkeys(NAMES, profile("cpu", 20.0)),
    "cuda": dict.fromkeys(NAMES, profile("cuda", 2.0)),
}
POOLS = {
    "cpu": {"workers": 8, "num_cpus": 4},
    "gpu": {"device": "cuda", "num_gpus": 1, "label_selector": {"ray.io/accelerator-type": "A100"}},
}


def config(**fields: Any) -> AppConfig:
    endpoint = {"task": "toy", "slo_ms": 100, "selection": {"policy": "greedy"}}
    return AppConfig.model_validate({"endpoints": {"toy": endpoint}, "pools": POOLS, "emulate": {}} | fields)


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return load_catalogue(write_toy_catalogue(tmp_path))


def test_every_variant_takes_its_profile_on_every_device_and_claims_to_be_the_same(catalogue: Catalogue) -> None:
    how = {"distribution": "lognormal", "seed": 3, "factor_file": "/tmp/factor"}
    emulated = emulate(config(emulate=how), catalogue, PROFILES)
    for variant, real in zip(emulated.variants, catalogue.variants, strict=True):
        assert variant.emulated
        assert variant.options == how
        assert (variant.name, variant.accuracy, variant.inputs) == (real.name, real.accuracy, real.inputs)
        artifact = FsspecStore(emulated.root, Path("unused")).fetch(variant.artifact)
        for device, by_name in PROFILES.items():
            assert emulated_profile(variant, artifact, device).by_batch == by_name[variant.name].by_batch
            create(variant, artifact, RuntimeOptions(device)).load()
    again = emulate(config(emulate=how), catalogue, PROFILES)
    assert [v.artifact for v in again.variants] == [v.artifact for v in emulated.variants]


def test_nothing_changes_without_emulate_and_what_is_emulated_already_stays(catalogue: Catalogue) -> None:
    plain = config(emulate=None)
    assert emulate(plain, catalogue, PROFILES) is catalogue
    assert with_light_reservations(plain) is plain
    emulated = emulate(config(), catalogue, PROFILES)
    assert emulate(config(emulate={"seed": 9}), emulated, PROFILES) is emulated


def test_variants_that_nobody_serves_are_left_alone(catalogue: Catalogue) -> None:
    given = {"toy": {"task": "toy", "slo_ms": 100, "selection": {"policy": "greedy"}, "variants": ["good"]}}
    emulated = emulate(config(endpoints=given), catalogue, PROFILES)
    assert [variant.name for variant in emulated.variants if variant.emulated] == ["good"]


def test_where_memory_is_limited_variants_claim_that_of_their_models(catalogue: Catalogue) -> None:
    pools = {"cpu": {"memory_bytes": 1e9}}
    emulated = emulate(config(pools=pools), catalogue, PROFILES)
    good = emulated.variant("good")
    size = (Path(catalogue.root) / "good.onnx").stat().st_size
    assert good.options["memory_bytes"] == size
    (Path(catalogue.root) / "good.onnx").unlink()
    with pytest.raises(ArtifactError, match=r"good\.onnx"):
        emulate(config(pools=pools), catalogue, PROFILES)


def test_what_models_take_of_gpus_is_claimed_where_those_run_them(catalogue: Catalogue) -> None:
    gpus = {"device": "cuda", "num_gpus": 1, "memory_bytes": 1e9, "variants": ["brittle"]}
    emulated = emulate(config(pools={"cpu": {}, "gpu": gpus}), catalogue, PROFILES)
    for name, more_bytes in (("good", 0), ("brittle", 150_000_000)):
        size = (Path(catalogue.root) / f"{name}.onnx").stat().st_size
        assert emulated.variant(name).options["memory_bytes"] == size + more_bytes


def test_a_rehearsal_asks_for_no_machine_of_its_own() -> None:
    light = with_light_reservations(config(routers=3, router_num_cpus=2))
    cpus = light.routers * light.router_num_cpus + light.controller.num_cpus
    assert cpus + sum(pool.workers * pool.num_cpus for pool in light.pools.values()) < 0.2
    assert all(pool.num_gpus == 0 and pool.label_selector == {} for pool in light.pools.values())
    assert {name: (pool.workers, pool.device) for name, pool in light.pools.items()} == {
        "cpu": (8, "cpu"),
        "gpu": (1, "cuda"),
    }


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a CUDA device")
def test_a_device_that_is_not_there_needs_a_profile(catalogue: Catalogue, tmp_path: Path) -> None:
    only = {"toy": {"task": "toy", "slo_ms": 100, "selection": {"policy": "greedy"}, "variants": ["good"]}}
    for emulated in ({}, None):
        asked = config(endpoints=only, pools={"gpu": POOLS["gpu"]}, emulate=emulated)
        with pytest.raises(
            ConfigError, match=r"profiles\.cuda names no file, .*, or nobody does, give profiles: {cuda: F"
        ):
            profiles_for(asked, catalogue)


def test_an_emulated_variant_of_the_catalogue_is_never_measured(catalogue: Catalogue) -> None:
    emulated = emulate(config(), catalogue, PROFILES)
    found = profiles_for(config(emulate=None), emulated)
    assert {d: {n: p.by_batch for n, p in found[d].items()} for d in found} == {
        d: {n: p.by_batch for n, p in PROFILES[d].items()} for d in PROFILES
    }


def test_the_factor_file_is_found_from_the_folder_that_the_service_is_started_in() -> None:
    resolved = resolve_paths(config(emulate={"factor_file": "factor.json"}), Path("/srv")).emulate
    assert resolved is not None
    assert resolved.factor_file == "/srv/factor.json"


@pytest.mark.parametrize(
    ("emulation", "message"),
    [({"distribution": "uniform"}, "distribution"), ({"seed": -1}, "seed"), ({"speed": 1}, "speed"), (True, "emulate")],
)
def test_a_wrong_way_to_emulate_is_refused(emulation: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        config(emulate=emulation)


@pytest.mark.parametrize(("given", "expected"), [({}, {}), ({"emulate": None}, {}), ({"emulate": {"seed": 4}},) * 2])
def test_the_flag_makes_a_copy_that_emulates_as_the_config_says(
    tmp_path: Path, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    arguments = {"endpoints": {"toy": {"task": "toy", "slo_ms": 100}}, "pools": {"cpu": {}}, **given}
    ours = {"name": "a", "import_path": "serve_app.main:build", "route_prefix": "/", "args": arguments}
    path, folder = tmp_path / "serve.yaml", tmp_path / "copy"
    folder.mkdir()
    content = {"http_options": {"port": 8123}, "applications": [ours, {"name": "b", "import_path": "other:app"}]}
    path.write_text(yaml.safe_dump(content))
    before = path.read_text()
    copy = write_served(path, folder, emulate=True, host=None)
    assert path.read_text() == before
    written = yaml.safe_load(copy.read_text())
    assert written["applications"][0]["args"]["emulate"] == expected.get("emulate", {})
    assert written["applications"][1] == content["applications"][1]
    file = read_serve_file(copy)
    assert file.url == "http://127.0.0.1:8123"
    assert file.app.emulate is not None


def test_what_no_model_answers_for_is_marked_and_said_at_start(
    catalogue: Catalogue, caplog: pytest.LogCaptureFixture
) -> None:
    emulated = emulate(config(), catalogue, PROFILES)
    info = assemble(config(), emulated, PROFILES, {}).endpoints["toy"]
    assert info.emulated == set(NAMES)
    assert info.metadata(0.1, ("good", "real"), info.emulated)["parameters"]["emulated"] == ["good"]
    assert assemble(config(), catalogue, PROFILES, {}).endpoints["toy"].emulated == frozenset()
    log_emulated(catalogue.variants)
    assert caplog.text == ""
    log_emulated(emulated.variants)
    assert "EMULATED: no model runs for corrupt, brittle, good." in caplog.text


class PlayedRouter:
    def __init__(self, routing: RoutingTable | None) -> None:
        self.routing = routing


def test_the_controllers_word_counts_once_it_is_there() -> None:
    info = EndpointInfo("toy", {"": "toy"}, (), (), (), 8, frozenset({"good"}))
    registered = RoutingTable(1, 1, {}, {}, {}, {}, emulated=frozenset({"good", "new"}))
    assert emulated_variants(cast(Router, PlayedRouter(None)), info) == {"good"}
    assert emulated_variants(cast(Router, PlayedRouter(registered)), info) == {"good", "new"}


def test_a_status_says_of_every_variant_and_worker_what_is_emulated() -> None:
    status = {
        "plan_version": 3,
        "endpoints": {"toy": {"slo_ms": 100, "variants": {"good": {"share": 0.5}, "real": {"share": 0.5}}}},
        "workers": {"w1": {"loaded": ["good", "real"]}, "w2": {"loaded": ["real"]}},
    }
    marked = mark_status(status, {"good"})
    variants = marked["endpoints"]["toy"]["variants"]
    assert variants == {"good": {"share": 0.5, "emulated": True}, "real": {"share": 0.5, "emulated": False}}
    assert {name: worker["emulated"] for name, worker in marked["workers"].items()} == {"w1": ["good"], "w2": []}
    assert (marked["plan_version"], marked["endpoints"]["toy"]["slo_ms"]) == (3, 100)


def test_a_type_of_device_is_not_measured_on_the_machine_that_starts_the_service(catalogue: Catalogue) -> None:
    pools = {"gpu": {"device": "cuda-a100", "num_gpus": 1}}
    with pytest.raises(ConfigError, match=r"profiles\.cuda-a100 names no file, .* give profiles"):
        profiles_for(config(pools=pools), catalogue)


def test_what_was_measured_of_whole_pipelines_is_known_in_a_rehearsal(catalogue: Catalogue) -> None:
    measured = replace(catalogue, votes={"toy": "toy.csv"}, pipelines={"strips": "strips.json"})
    emulated = emulate(config(), measured, PROFILES)
    assert (emulated.votes, emulated.pipelines) == (measured.votes, measured.pipelines)
