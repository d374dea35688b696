"""The name of a variant is free for another one once it does not serve, and no worker holds it any more."""

import asyncio
from pathlib import Path

import pytest
from controller_parts import endpoint, pool, settings
from registration_scene import Scene, new, play

from catalog.errors import BadRequest, ConfigError, NameInUse, NoWorker
from deployments.controller.variants.variant_book import VariantBook
from deployments.controller.variants.variant_changes import take_back
from deployments.state.saved_state import ControllerState
from virtual_time import until


def test_a_name_is_not_given_away_while_workers_hold_the_variant_of_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1", "w2")
        played.pools["gpu"].come("g1")
        await played.start()
        given = new(tmp_path)
        await played.register(given)
        for worker in ("w2", "g1"):
            await played.worker_registry.load(worker, given)
        with pytest.raises(ConfigError, match="repeats new"):
            await played.register(given)
        played.known.book.withdraw("new")
        measured = list(played.measured)
        with pytest.raises(BadRequest, match=r"workers still hold the 'new' of before \(g1, w2\).*again in a moment"):
            await played.register(new(tmp_path, accuracy=0.99))
        await played.worker_registry.unload("w2", "new")
        with pytest.raises(BadRequest, match=r"'new' of before \(g1\)"):
            await played.register(new(tmp_path, accuracy=0.99))
        assert played.measured == measured, "the model of before would be measured"
        assert "new" not in played.known.book.names
        await played.worker_registry.unload("g1", "new")
        await played.register(new(tmp_path, accuracy=0.99))
        assert played.known.book.variant("new").accuracy == 0.99

    both = {"digits": endpoint(pools=("cpu", "gpu"))}
    play(monkeypatch, settings(both, {"cpu": pool(), "gpu": pool(1)}), scene)


def test_nor_where_a_load_of_before_ends_while_the_new_one_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1", "w2")
        played.pools["cpu"].load_s = 1.0
        await played.start()
        given = new(tmp_path)
        await played.register(given)
        loading = asyncio.create_task(played.worker_registry.load("w1", given))
        await asyncio.sleep(0.1)
        played.known.book.withdraw("new")
        with pytest.raises(BadRequest, match=r"'new' of before \(w1\)"):
            await played.register(new(tmp_path, accuracy=0.99))
        await loading
        assert "new" not in played.known.book.names

    play(monkeypatch, settings(), scene)


def test_nor_by_a_controller_that_began_after_the_one_of_before_was_withdrawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1", "w2")
        await played.start()
        given = new(tmp_path)
        await played.register(given)
        await played.worker_registry.load("w1", given)
        played.known.book.withdraw("new")
        measured, record = list(played.measured), played.known.book.to_record()
        played.known = ControllerState(VariantBook(played.config))
        played.known.book.restore(record)
        with pytest.raises(NameInUse, match=r"workers still hold the 'new' of before \(w1\)"):
            await played.register(new(tmp_path, accuracy=0.99))
        assert played.measured == measured, "the model of before would be measured"
        await played.worker_registry.unload("w1", "new")
        await played.register(new(tmp_path, accuracy=0.99))
        assert played.known.book.variant("new").accuracy == 0.99

    play(monkeypatch, settings(), scene)


def test_one_that_was_registered_and_loaded_while_another_of_its_name_was_measured_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        await played.start()
        given = new(tmp_path)
        first = asyncio.create_task(played.register(given))
        await asyncio.sleep(1.0)
        second = asyncio.create_task(played.register(new(tmp_path, accuracy=0.99)))
        await first
        await played.worker_registry.load("w1", given)
        with pytest.raises(ConfigError, match="repeats new"):  # for good, and not until workers let go of it
            await second
        assert played.known.book.variant("new") == given

    play(monkeypatch, settings(), scene)


def test_a_variant_whose_measurement_failed_may_be_registered_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        await played.start()
        registering = asyncio.create_task(played.register(new(tmp_path)))
        await asyncio.sleep(1.0)
        played.pools["cpu"].go("w1")
        with pytest.raises(NoWorker):
            await registering
        played.pools["cpu"].come("w1", "w2")
        await until(lambda: played.worker_registry.reports.keys() == {"w1", "w2"})
        await played.register(new(tmp_path))
        assert "new" in played.known.book.names

    play(monkeypatch, settings(), scene)


def test_a_variant_that_workers_still_hold_may_be_taken_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(played: Scene) -> None:
        played.pools["cpu"].come("w1")
        await played.start()
        given = new(tmp_path)
        await played.register(given)
        await played.worker_registry.load("w1", given)
        played.known.book.withdraw("new")
        assert take_back("new", played.known)
        assert "new" in played.known.book.names
        assert not take_back("new", played.known), "it serves: there is nothing to plan anew for"
        played.known.unloadable.bar_pool("cpu", "new", "no memory", 0.0)
        assert take_back("new", played.known), "it may be loadable now"
        assert not take_back("new", played.known)

    play(monkeypatch, settings(), scene)
