"""Stores of earlier versions, kept as they were written, are taken up whole; those of later ones are refused."""

import json
import logging
import shutil
import sqlite3
from pathlib import Path

import fsspec
import pytest
from controller_parts import settings

from catalog.errors import StateRefused
from deployments.controller.variants.variant_book import VariantBook
from deployments.state import schema
from deployments.state.opening import open_store
from deployments.state.saved_state import ControllerState, next_epoch
from deployments.state.schema import VERSION, bring_up_to_date
from deployments.state.store import VERSION_FILE, FsspecStateStore, SqliteStateStore, StateStore

DATA = Path(__file__).parent / "data"
"""Written by the Accord of each time: version 1 by three of them, which had no mark yet."""

KEPT = sorted(path.relative_to(DATA).as_posix() for path in DATA.glob("version-*/*"))
WRITTEN_S = 1_760_000_000.0


@pytest.fixture(params=KEPT)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A copy of a store as it was written."""
    kept, place = DATA / request.param, tmp_path / Path(request.param).name
    shutil.copytree(kept, place) if kept.is_dir() else shutil.copy(kept, place)
    return str(place)


def test_stores_of_every_version_are_kept() -> None:
    assert {int(name.split("/")[0].removeprefix("version-")) for name in KEPT} == set(range(1, VERSION + 1))


def test_what_an_earlier_accord_learned_is_known_after_an_upgrade(where: str, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(where)
    known = ControllerState(VariantBook(settings()))
    with caplog.at_level(logging.WARNING, "ray.serve"):
        known.restore(store, WRITTEN_S + 20)
    assert [each for each in caplog.records if each.levelno > logging.INFO] == [], "everything could be read"
    assert known.decisions.in_force is not None
    assert known.decisions.in_force.reason == "a burst"
    assert "newcomer" in known.book.names
    assert known.sizes == {"cpu": 5}
    assert known.runs.factor(("cpu", "slow"), WRITTEN_S + 20) > 1.5
    load = known.history.series(WRITTEN_S + 10)["digits"]
    assert dict(zip(load.times_s.tolist(), load.loads_qps.tolist(), strict=True)).items() >= {
        (int(WRITTEN_S) - 3, 7.0),
        (int(WRITTEN_S), 9.0),
    }
    assert next_epoch(store) == 3


def test_an_upgrade_marks_the_store_and_changes_no_document_of_version_1(where: str) -> None:
    raw: StateStore = SqliteStateStore(Path(where)) if where.endswith(".db") else FsspecStateStore(where)
    before = {name: raw.read(name) for name in raw.names("")}
    for _ in range(2):
        upgraded = open_store(where)
        assert {name: upgraded.read(name) for name in upgraded.names("")} == before
    marked = SqliteStateStore(Path(where)) if where.endswith(".db") else FsspecStateStore(where)
    assert marked.version() == VERSION


@pytest.mark.parametrize("place", ["new", "new.db"])
def test_a_new_store_has_the_newest_version(place: str, tmp_path: Path) -> None:
    where = str(tmp_path / place)
    open_store(where)
    store = SqliteStateStore(Path(where)) if place.endswith(".db") else FsspecStateStore(where)
    assert store.version() == VERSION
    assert store.names("") == []


def test_buckets_are_marked_as_well(tmp_path: Path) -> None:
    open_store(f"memory://{tmp_path.name}/state")
    store = FsspecStateStore(f"memory://{tmp_path.name}/state")
    assert store.version() == VERSION
    fsspec.filesystem("memory").rm(f"/{tmp_path.name}", recursive=True)


@pytest.mark.parametrize("place", ["state", "state.db"])
def test_a_store_that_a_newer_accord_wrote_is_refused_and_left_as_it_is(place: str, tmp_path: Path) -> None:
    where = str(tmp_path / place)
    open_store(where).write("plan", 1)
    if place.endswith(".db"):
        with sqlite3.connect(where) as database:
            database.execute(f"PRAGMA user_version = {VERSION + 1}")
        database.close()
    else:
        (tmp_path / place / VERSION_FILE).write_text(f"{VERSION + 1}\n")
    with pytest.raises(StateRefused, match=rf"version {VERSION + 1}, and this Accord knows .* up to {VERSION}: a "):
        open_store(where)
    raw = SqliteStateStore(Path(where)) if place.endswith(".db") else FsspecStateStore(where)
    assert (raw.version(), raw.read("plan")) == (VERSION + 1, 1)


def test_a_version_that_is_no_number_is_refused(tmp_path: Path) -> None:
    open_store(str(tmp_path / "state"))
    (tmp_path / "state" / VERSION_FILE).write_text("two")
    with pytest.raises(StateRefused, match=r"schema-version holds b'two' instead of the version"):
        open_store(str(tmp_path / "state"))


def test_migrations_run_one_after_the_other_and_each_is_marked(tmp_path: Path) -> None:
    store, order = FsspecStateStore(str(tmp_path)), []

    def double(of: StateStore) -> None:
        order.append(store.version())
        of.write("numbers", [2 * number for number in of.read("numbers") or ()])

    store.write("numbers", [1, 2])
    migrations = {1: double, 2: double}
    bring_up_to_date(store, "here", newest=3, migrations=migrations)
    bring_up_to_date(store, "here", newest=3, migrations=migrations)
    assert json.loads((tmp_path / "numbers.json").read_text()) == [4, 8]
    assert (order, store.version()) == ([0, 2], 3)


def test_a_version_too_old_to_be_migrated_is_refused_with_what_to_do(tmp_path: Path) -> None:
    store = FsspecStateStore(str(tmp_path))
    store.write("numbers", [1])
    with pytest.raises(StateRefused, match="run an older Accord in between"):
        bring_up_to_date(store, "here", newest=9, migrations={8: lambda _: None})
    assert store.version() == 0


def test_every_version_can_be_migrated() -> None:
    assert set(schema.MIGRATIONS) == set(range(1, VERSION))
