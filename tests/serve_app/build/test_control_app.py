"""The controller's deployment: its ``user_config``, and the variants that this names."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from controller_parts import described, settings

from catalog.errors import BadRequest, NoWorker
from catalog.variant import Variant
from deployments.controller.variants.registration import as_variant
from deployments.messages.control_settings import ControlSettings
from router_scene import now_s, settled, virtually
from serve_app.build import control_app
from serve_app.build.control_app import ControllerApp, ControllerDeployment, as_controller
from virtual_time import without_threads

MEASURE_S = 1.0


@dataclass
class PlayedController:
    """Takes `MEASURE_S` to register a variant; ``alone``, there is no worker to measure it on."""

    alone: bool = True
    refused: str | None = None
    variants: dict[str, Variant] = field(default_factory=dict)
    asked: list[tuple[str, float]] = field(default_factory=list)
    settings: list[ControlSettings] = field(default_factory=list)

    async def start(self) -> None:
        pass

    def plan(self) -> dict[str, Any]:
        return {
            "version": 0,
            "planner": "everywhere",
            "decision": None,
            "under_way": None,
            "unloadable": [],
            "pools": {},
        }

    def change(self, to: ControlSettings) -> None:
        self.settings.append(to)

    def variant(self, name: str) -> Variant | None:
        return self.variants.get(name)

    async def register(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        variant = as_variant(entry)
        self.asked.append((variant.name, now_s()))
        await asyncio.sleep(MEASURE_S)
        if self.alone:
            raise NoWorker("no worker is there")
        if variant.name in self.variants:
            raise BadRequest(f"the catalogue repeats {variant.name}")
        self.variants[variant.name] = variant
        return {}

    def accuracies(self) -> dict[str, float]:
        return {name: variant.accuracy for name, variant in self.variants.items()}


class Started:
    """A `ControllerApp` around a played controller."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.controller = PlayedController()
        without_threads(monkeypatch)
        monkeypatch.setattr(
            control_app, "serve", SimpleNamespace(get_replica_context=lambda: SimpleNamespace(app_name="accord"))
        )
        monkeypatch.setattr(control_app, "open_or_wait", lambda state: None)
        monkeypatch.setattr(control_app, "begun_on", lambda state, store, begin: self.controller)

    async def app(self) -> ControllerApp:
        made: Any = ControllerApp.__new__(ControllerApp)
        await made.__init__(settings(), {})
        return cast(ControllerApp, made)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    return Started(monkeypatch)


class DerivedApp(ControllerApp):
    """As benchmarks derive one."""


def test_serve_is_given_an_empty_user_config_where_the_file_has_none() -> None:
    assert ControllerDeployment.user_config == {}, "for None Serve does not call `reconfigure`"
    assert as_controller(DerivedApp).user_config == {}


@virtually
async def test_a_change_is_in_force_until_it_is_taken_out(started: Started) -> None:
    app = await started.app()
    await app.reconfigure({})
    await app.reconfigure({"endpoints": {"digits": {"slo_ms": 60}}})
    await app.reconfigure({})
    assert [each.endpoints["digits"].limits.slo_s for each in started.controller.settings] == [0.2, 0.06, 0.2]
    assert started.controller.settings[0] == started.controller.settings[2] == settings()


@virtually
async def test_a_variant_is_registered_once_there_is_a_worker(started: Started, tmp_path: Path) -> None:
    app = await started.app()
    await app.reconfigure({"variants": [described(tmp_path, "one"), described(tmp_path, "two")]})
    await asyncio.sleep(10.0)
    assert started.controller.accuracies() == {}
    started.controller.alone = False
    await asyncio.sleep(10.0)
    assert started.controller.accuracies() == {"one": 0.95, "two": 0.95}
    assert not app._working


@virtually
async def test_an_entry_has_one_task_however_often_the_config_changes(started: Started, tmp_path: Path) -> None:
    app = await started.app()
    for slo_ms in (60, 70, 80):
        await app.reconfigure({"endpoints": {"digits": {"slo_ms": slo_ms}}, "variants": [described(tmp_path)]})
        await settled()
    await asyncio.sleep(7.0)
    times_s = [at_s for _, at_s in started.controller.asked]
    assert times_s == pytest.approx([0.0, 3.0, 6.0])
    await app.reconfigure({})


@virtually
async def test_a_corrected_entry_takes_the_place_of_the_one_before(started: Started, tmp_path: Path) -> None:
    app = await started.app()
    await app.reconfigure({"variants": [described(tmp_path, accuracy=0.5)]})
    await asyncio.sleep(0.5)
    started.controller.alone = False  # the first is being measured
    await app.reconfigure({"variants": [described(tmp_path, accuracy=0.9)]})
    await asyncio.sleep(10.0)
    assert started.controller.accuracies() == {"new": 0.9}


@virtually
async def test_an_entry_that_is_taken_out_is_not_registered_any_more(started: Started, tmp_path: Path) -> None:
    app = await started.app()
    await app.reconfigure({"variants": [described(tmp_path, "one"), described(tmp_path, "two")]})
    await asyncio.sleep(0.5)
    started.controller.alone = False
    await app.reconfigure({"variants": [described(tmp_path, "two")]})
    await asyncio.sleep(10.0)
    assert started.controller.accuracies() == {"two": 0.95}
    await app.reconfigure({})
    assert started.controller.accuracies() == {"two": 0.95}, "what was registered is taken out by `accord unregister`"


@virtually
async def test_an_entry_that_differs_from_the_variant_that_serves_is_an_error(
    started: Started, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = await started.app()
    started.controller.alone = False
    await app.reconfigure({"variants": [described(tmp_path)]})
    await asyncio.sleep(10.0)
    await app.reconfigure({"variants": [described(tmp_path)]})
    assert caplog.messages == []
    await app.reconfigure({"variants": [described(tmp_path, accuracy=0.9, max_batch=8)]})
    (words,) = caplog.messages
    assert "'new' of user_config differs in accuracy, max_batch from the one of that name that serves" in words
    await asyncio.sleep(10.0)
    assert started.controller.accuracies() == {"new": 0.95}
    caplog.clear()
    await app.reconfigure({"variants": [described(tmp_path, accuracy=2.0)]})
    assert "'new' of user_config changes nothing: the variant is not right: accuracy" in caplog.text


@virtually
async def test_a_wrong_entry_is_an_error_and_tried_again_with_the_next_change(
    started: Started, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = await started.app()
    for _ in range(2):
        await app.reconfigure({"variants": [described(tmp_path, accuracy=2.0)]})
        await asyncio.sleep(10.0)
    assert [words.split(":")[0] for words in caplog.messages] == ["Variant 'new' of user_config was not registered"] * 2


@virtually
async def test_of_two_entries_of_one_name_the_last_counts_and_that_is_an_error(
    started: Started, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = await started.app()
    started.controller.alone = False
    await app.reconfigure({"variants": [described(tmp_path, accuracy=0.5), described(tmp_path, accuracy=0.9)]})
    await asyncio.sleep(10.0)
    assert started.controller.accuracies() == {"new": 0.9}
    assert "more than once" in caplog.text


@virtually
async def test_a_refused_change_says_so_and_leaves_all_as_it_is(started: Started, tmp_path: Path) -> None:
    app = await started.app()
    await app.reconfigure({"variants": [described(tmp_path)]})
    await app.reconfigure({"endpoints": {"letters": {"slo_ms": 60}}})
    assert started.controller.refused is not None
    assert "letters" in started.controller.refused
    started.controller.alone = False
    await asyncio.sleep(10.0)
    assert started.controller.accuracies() == {"new": 0.95}
