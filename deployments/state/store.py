"""Where the controller keeps what must survive it: JSON values by name, in SQLite or in files anywhere."""

import json
import sqlite3
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote
from uuid import uuid4

import fsspec
from fsspec.implementations.local import LocalFileSystem

from catalog.errors import ConfigError, StateRefused, StateUnavailable
from catalog.extras import TO_INSTALL
from deployments.state.durable_file import PARTIAL, remove_partial, write_durably

VERSION_FILE = "schema-version"

LEFT_AFTER_S = 3600.0
"""A file that was begun so long ago is of a writer that was killed."""


class StateStore(Protocol):
    """JSON values by name; a name may be any text. Every method blocks on disk or network, and any thread may call it.

    A value that was written outlives its writer, also one that is killed. Writing replaces the value before as a
    whole or not at all. A store can be pickled, and is the same one in another process. Methods raise
    `StateUnavailable` where the place cannot be used just now.
    """

    def read(self, name: str) -> Any | None:
        """The value, None where there is none; raises `ConfigError` where it is there but is no JSON."""

    def write(self, name: str, value: Any) -> None:
        """Keep a value of dicts with text as keys, lists, text, numbers, booleans and None; TypeError for others."""

    def names(self, prefix: str) -> list[str]:
        """Names that begin with ``prefix``, sorted."""

    def delete(self, name: str) -> None:
        """Let go of a value; one that is not there is fine."""


class SqliteStateStore:
    """One table in a database file, which is made where it is missing, and its folders with it.

    The file must be on a disk of this machine: SQLite's log does not work over network file systems.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()  # another process may have another working directory
        self._one_at_a_time = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # without an isolation level every statement is a transaction of its own
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute("CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error

    def __reduce__(self) -> tuple[type["SqliteStateStore"], tuple[Path]]:
        return SqliteStateStore, (self._path,)

    def read(self, name: str) -> Any | None:
        """See `StateStore.read`."""
        rows = self._run("SELECT value FROM state WHERE name = ?", name)
        return _parsed(rows[0][0], f"state {name!r} in {self._path}") if rows else None

    def write(self, name: str, value: Any) -> None:
        """See `StateStore.write`."""
        self._run("INSERT OR REPLACE INTO state VALUES (?, ?)", name, json.dumps(value))

    def names(self, prefix: str) -> list[str]:
        """See `StateStore.names`."""
        return _beginning_with(prefix, (name for (name,) in self._run("SELECT name FROM state")))

    def delete(self, name: str) -> None:
        """See `StateStore.delete`."""
        self._run("DELETE FROM state WHERE name = ?", name)

    def version(self) -> int:
        """See `VersionedStore.version`: what SQLite keeps in a database for those who use it."""
        return int(self._run("PRAGMA user_version")[0][0])

    def mark(self, version: int) -> None:
        """See `VersionedStore.mark`."""
        self._run(f"PRAGMA user_version = {version:d}")

    def _run(self, statement: str, *values: str) -> list[Any]:
        try:
            with self._one_at_a_time:
                return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> StateUnavailable:
        return StateUnavailable(
            f"cannot use {self._path} as the database of the controller's state: {error}; give a file that can be "
            "written, or move a damaged one away to start without what was learned"
        )


class FsspecStateStore:
    """One JSON file per name in a folder of any file system that fsspec can reach; the folder is made if missing."""

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            self._files, self._folder = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise ConfigError(
                f"cannot keep the controller's state at {url}: {error}; give a path or a URL that fsspec knows, and "
                f"install its driver (`{TO_INSTALL.format('cloud')}`)"
            ) from error
        if isinstance(self._files, LocalFileSystem):
            self._url = str(self._folder)  # another process may have another working directory
        try:
            self._files.makedirs(self._folder, exist_ok=True)
            if isinstance(self._files, LocalFileSystem):
                remove_partial(Path(self._folder), LEFT_AFTER_S, time.time())
        except Exception as error:
            raise self._unusable(error) from error

    def __reduce__(self) -> tuple[type["FsspecStateStore"], tuple[str]]:
        return FsspecStateStore, (self._url,)

    def read(self, name: str) -> Any | None:
        """See `StateStore.read`."""
        path = self._path(name)
        content = self._content(path)
        return None if content is None else _parsed(content, path)

    def write(self, name: str, value: Any) -> None:
        """See `StateStore.write`."""
        self._put(self._path(name), json.dumps(value).encode())

    def names(self, prefix: str) -> list[str]:
        """See `StateStore.names`."""
        try:
            self._files.invalidate_cache(self._folder)  # another process may have written
            paths = self._files.ls(self._folder, detail=False)
        except FileNotFoundError:
            return []  # object stores have no folders: one without objects is not there
        except Exception as error:
            raise self._unusable(error) from error
        files = (str(path).rsplit("/", 1)[-1] for path in paths)
        return _beginning_with(prefix, (unquote(file[: -len(".json")]) for file in files if file.endswith(".json")))

    def delete(self, name: str) -> None:
        """See `StateStore.delete`."""
        try:
            self._files.rm_file(self._path(name))
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._unusable(error) from error

    def version(self) -> int:
        """See `VersionedStore.version`: a file of its own, which is no document."""
        content = self._content(f"{self._folder}/{VERSION_FILE}")
        if content is None:
            return 0
        try:
            return int(content)
        except ValueError as error:
            raise StateRefused(
                f"{self._folder}/{VERSION_FILE} holds {content[:40]!r} instead of the version of the state; restore it "
                "from a copy, or set controller.state to another place to begin anew"
            ) from error

    def mark(self, version: int) -> None:
        """See `VersionedStore.mark`."""
        self._put(f"{self._folder}/{VERSION_FILE}", f"{version:d}\n".encode())

    def _content(self, path: str) -> bytes | None:
        try:
            return bytes(self._files.cat_file(path))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._unusable(error) from error

    def _put(self, path: str, content: bytes) -> None:
        try:
            if isinstance(self._files, LocalFileSystem):
                write_durably(Path(path), content)
            else:
                partial = f"{self._folder}/{uuid4().hex}{PARTIAL}"
                self._files.pipe_file(partial, content)
                self._files.mv(partial, path)
        except Exception as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> StateUnavailable:
        """Of whatever went wrong: drivers raise their own kinds, as botocore, gcsfs and aiohttp."""
        return StateUnavailable(
            f"cannot keep the controller's state at {self._url}: {error or type(error).__name__}; give a folder or "
            "bucket that can be written and has room"
        )

    def _path(self, name: str) -> str:
        # whatever is in a name, it can neither leave the folder nor mean a pattern
        return f"{self._folder}/{quote(name, safe='')}.json"


def _beginning_with(prefix: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(prefix))


def _parsed(text: str | bytes, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(
            f"{where} is not JSON ({error}); restore it from a copy, or delete it to start without what it held"
        ) from error
