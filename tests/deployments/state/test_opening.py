"""Places that cannot be used just now: what stands for them, and what happens when they are back."""

import logging
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from catalog.errors import ConfigError, StateRefused, StateUnavailable
from deployments.state.durable_file import PARTIAL, remove_partial, write_durably
from deployments.state.opening import AwayStore, StateIsBack, begun_on, open_or_wait, open_store, usual_state
from deployments.state.store import VERSION_FILE, FsspecStateStore, StateStore


@pytest.mark.parametrize("place", ["occupied/state", "occupied/state.db"])
def test_a_place_that_cannot_be_used_is_waited_for_and_never_written_over(
    place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    where, occupied = str(tmp_path / place), tmp_path / "occupied"
    occupied.write_text("a file where a folder should be")
    with caplog.at_level(logging.ERROR, "ray.serve"):
        store = pickle.loads(pickle.dumps(open_or_wait(where)))
    assert isinstance(store, AwayStore)
    assert "begins without its saved state" in caplog.text
    assert (store.read("plan"), store.names("")) == (None, [])
    store.delete("plan")
    with pytest.raises(StateUnavailable, match="occupied"):
        store.write("plan", 1)
    occupied.unlink()
    open_store(where).write("plan", "of before")
    with pytest.raises(StateIsBack, match="can be used again"):
        store.write("plan", 1)
    assert open_store(where).read("plan") == "of before"


def test_what_is_refused_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / VERSION_FILE).write_text("99")
    with pytest.raises(StateRefused):
        open_or_wait(str(tmp_path))
    with pytest.raises(ConfigError, match="nowhere"):
        open_or_wait("nowhere://state")


def test_what_killed_writers_left_is_removed_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    (tmp_path / f"left{PARTIAL}").write_text("half")
    now_s = (tmp_path / f"left{PARTIAL}").stat().st_mtime
    FsspecStateStore(str(tmp_path))
    remove_partial(tmp_path, 60.0, now_s + 59.0)
    assert [path.name for path in tmp_path.iterdir()] == [f"left{PARTIAL}"]
    remove_partial(tmp_path, 60.0, now_s + 61.0)
    assert list(tmp_path.iterdir()) == []


FULL = """
import resource, signal, sys
from catalog.errors import StateUnavailable
from deployments.state.opening import open_store

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = open_store(sys.argv[1])
store.write("plan", "old")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    store.write("plan", "new" * 1_000_000)
except StateUnavailable as error:
    print("refused:", error)
print("read:", store.read("plan"))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.write("plan", "after")
print("read:", store.read("plan"))
"""


@pytest.mark.parametrize("place", ["state", "state.db"])
def test_a_disk_without_room_keeps_the_value_before_and_takes_the_next_when_it_has(place: str, tmp_path: Path) -> None:
    """A limit on the size of files is the full disk that everybody can have."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / place)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    refused, old, after = done.stdout.splitlines()
    assert refused.startswith("refused: cannot ")
    assert (old, after) == ("read: old", "read: after")
    assert not list(tmp_path.rglob(f"*{PARTIAL}"))


def test_a_durable_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"one", b"two" * 1000, b""):
        write_durably(path, content)
        assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    with pytest.raises(FileNotFoundError):
        write_durably(tmp_path / "nowhere" / "file", b"")


def test_what_cannot_be_read_after_all_is_begun_without_and_waited_for(tmp_path: Path) -> None:
    def begin(store: StateStore) -> StateStore:
        if not isinstance(store, AwayStore):
            raise StateUnavailable("throttled")
        return store

    where = str(tmp_path / "state")
    begun = begun_on(where, open_or_wait(where), begin)
    assert isinstance(begun, AwayStore)
    with pytest.raises(StateIsBack):
        begun.write("plan", 1)
    assert begun_on(where, begun, lambda store: store) is begun


def test_a_store_with_a_document_that_cannot_be_read_is_not_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = str(tmp_path / "state")
    open_store(where).write("variants", [])
    damaged = {"variants"}

    def read(self: FsspecStateStore, name: str) -> object:
        if name in damaged:
            raise StateUnavailable("input/output error")
        return whole(self, name)

    whole = FsspecStateStore.read
    monkeypatch.setattr(FsspecStateStore, "read", read)
    away = AwayStore(where)
    with pytest.raises(StateUnavailable, match="input/output"):
        away.write("plan", 1)
    damaged.clear()
    with pytest.raises(StateIsBack):
        away.write("plan", 1)


def test_every_application_has_a_state_of_its_own_with_every_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path))
    places = [usual_state(name, root) for name in ("accord", "other") for root in ("/shop", "/market")]
    assert len(set(places)) == 4
    assert usual_state("accord", "/shop") == places[0]
    assert open_store(places[0]).names("") == []
    assert Path(places[0]).parent == tmp_path / "state"


def test_a_damaged_document_keeps_nobody_from_taking_the_others_up(tmp_path: Path) -> None:
    where = str(tmp_path / "state")
    open_store(where).write("sizes", {})
    (damaged,) = (tmp_path / "state").glob("sizes*")
    damaged.write_bytes(b"\0\0")
    with pytest.raises(ConfigError):
        open_store(where).read("sizes")
    with pytest.raises(StateIsBack):
        AwayStore(where).write("plan", 1)
