"""Values survive whoever wrote them, whatever their names; the oracle is a dict."""

import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.errors import ConfigError, StateUnavailable
from deployments.state import store as state_store
from deployments.state.opening import open_or_wait, open_store
from deployments.state.store import FsspecStateStore, SqliteStateStore, StateStore

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["decisions/1", "decisions/10", "decisions", "..", "../../x", "a//b", "*", "?[a]", "%2F", "~", "x.json"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
WRITES = st.lists(st.tuples(NAMES, st.none() | VALUES.map(lambda value: [value])), max_size=10)
"""Names with the value that is written, or None where the name is deleted."""


def sqlite_file(folder: Path) -> str:
    return str(folder / "deep" / "state.db")


def folder_of_files(folder: Path) -> str:
    return str(folder / "deep" / "state")


def memory(folder: Path) -> str:
    return f"memory://{folder.name}"


class Objects(MemoryFileSystem):  # type: ignore[misc]
    """Objects by their keys, as S3 has them: no folder can be made, and one without objects is not found."""

    protocol = "objects"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        stripped: str = super()._strip_protocol(path.removeprefix("objects://"))
        return stripped

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Leaves nothing behind."""

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        """Leaves nothing behind."""


def bucket(folder: Path) -> str:
    return f"objects://{folder.name}/accord/state"


fsspec.register_implementation("objects", Objects, clobber=True)


@pytest.fixture(params=[sqlite_file, folder_of_files, memory, bucket])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    place: Callable[[Path], str] = request.param
    yield place(tmp_path)
    for files in (fsspec.filesystem("memory"), fsspec.filesystem("objects")):
        if files.exists(tmp_path.name):
            files.rm(tmp_path.name, recursive=True)


@pytest.mark.parametrize("place", [sqlite_file, folder_of_files, memory, bucket])
@given(writes=WRITES, prefix=NAMES)
@settings(max_examples=30)
def test_a_store_holds_what_a_dict_would(
    place: Callable[[Path], str],
    writes: list[tuple[str, Any]],
    prefix: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    where = place(tmp_path_factory.mktemp("store") / uuid4().hex)
    store, held = open_store(where), dict[str, Any]()
    for name, value in writes:
        if value is None:
            store.delete(name)
            held.pop(name, None)
        else:
            store.write(name, value)
            held[name] = value
    for seen in (store, open_store(where)):
        assert {name: seen.read(name) for name, _ in writes} == {name: held.get(name) for name, _ in writes}
        assert seen.names("") == sorted(held)
        assert seen.names(prefix) == sorted(name for name in held if name.startswith(prefix))


def test_the_place_tells_the_kind_of_store(tmp_path: Path) -> None:
    for database in ("a.db", "b.sqlite"):
        assert isinstance(open_store(str(tmp_path / database)), SqliteStateStore)
        assert isinstance(open_store(f"file://{tmp_path / database}"), SqliteStateStore)
    for folder in (str(tmp_path / "c"), f"file://{tmp_path / 'd'}", f"memory://{tmp_path.name}/e.db"):
        assert isinstance(open_store(folder), FsspecStateStore)
    assert (tmp_path / "d").is_dir()


def test_a_new_place_begins_empty_and_keeps_what_is_written(where: str) -> None:
    store = open_or_wait(where)
    assert store.names("") == []
    store.write("plan", 1)
    assert open_or_wait(where).read("plan") == 1
    store.delete("plan")
    assert open_or_wait(where).names("") == []


def test_what_is_no_json_is_refused_and_the_value_before_stays(where: str) -> None:
    store = open_store(where)
    store.write("plan", [1])
    with pytest.raises(TypeError):
        store.write("plan", {1, 2})
    assert store.read("plan") == [1]
    assert store.names("") == ["plan"]


@pytest.mark.parametrize("relative", ["state.db", "state"])
def test_a_store_is_the_same_one_under_another_working_directory(
    relative: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store(relative)
    store.write("plan", 1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert pickle.loads(pickle.dumps(store)).read("plan") == 1
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("where", ["~/state.db", "file://~/state.db", "~/state", "file://~/state"])
def test_a_home_is_no_folder_of_that_name(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    for folder in (home, here):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    open_store(where).write("plan", 1)
    assert list(here.iterdir()) == []
    assert (home / where.rpartition("/")[2]).exists()


def test_threads_may_share_a_store(where: str) -> None:
    store = open_store(where)

    def write(number: int) -> None:
        store.write(f"own/{number}", number)
        store.write("shared", list(range(50)))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(40)))
    assert [store.read(f"own/{number}") for number in range(40)] == list(range(40))
    assert store.read("shared") == list(range(50))


def test_a_write_that_fails_halfway_leaves_the_value_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FsspecStateStore(str(tmp_path))
    store.write("plan", "old")

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StateUnavailable, match="no space"):
        store.write("plan", "new")
    assert store.read("plan") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.parametrize("place", [sqlite_file, folder_of_files])
def test_what_was_written_is_there_after_the_writer_was_killed(place: Callable[[Path], str], tmp_path: Path) -> None:
    script = f"""
import sys
from deployments.state.opening import open_store
store = open_store({place(tmp_path)!r})
store.write("plan", {{"version": 7}})
print("written", flush=True)
sys.stdin.read()
"""
    root = Path(state_store.__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        os.kill(writer.pid, signal.SIGKILL)
    assert open_store(place(tmp_path)).read("plan") == {"version": 7}


def damaged_row(folder: Path) -> StateStore:
    store = open_store(str(folder / "state.db"))
    store.write("plan", 1)
    with sqlite3.connect(folder / "state.db") as database:
        database.execute("UPDATE state SET value = '{oops'")
    database.close()
    return store


def damaged_file(folder: Path) -> StateStore:
    store = open_store(str(folder))
    (folder / "plan.json").write_bytes(b"{oops")
    return store


@pytest.mark.parametrize("damaged", [damaged_row, damaged_file])
def test_a_damaged_value_is_named_with_what_to_do(damaged: Callable[[Path], StateStore], tmp_path: Path) -> None:
    store = damaged(tmp_path)
    with pytest.raises(ConfigError, match=r"plan.* is not JSON .*delete it"):
        store.read("plan")
    store.write("plan", 2)
    assert store.read("plan") == 2


def test_a_file_that_is_no_database_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("this is no database, however long it may be")
    with pytest.raises(ConfigError, match=r"state\.db .*file is not a database; .*move a damaged one away"):
        open_store(str(tmp_path / "state.db"))


@pytest.mark.parametrize("where", ["nowhere://state", "occupied/state", "occupied/state.db"])
def test_a_place_that_cannot_be_had_is_named(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("occupied").write_text(json.dumps("a file where a folder should be"))
    with pytest.raises(ConfigError, match=where):
        open_store(where)
