"""The store at a place, whether it can be used just now or not."""

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from catalog.errors import ConfigError, StateUnavailable
from catalog.profiles.profile_cache import cache_dir
from deployments.state.load_history import PREFIX
from deployments.state.schema import VersionedStore, bring_up_to_date
from deployments.state.store import FsspecStateStore, SqliteStateStore, StateStore

logger = logging.getLogger("ray.serve")

T = TypeVar("T")

SQLITE_SUFFIXES = (".db", ".sqlite")


def usual_state(application: str, catalogue_root: str) -> str:
    """Where the state of a Serve application is kept that is told nothing else: its own with the catalogues of every
    folder, since what is learned and registered is of their variants. A catalogue that gets another name keeps it."""
    of = hashlib.sha256(catalogue_root.encode()).hexdigest()[:12]
    return str(cache_dir() / "state" / f"{application}-{of}.db")


def open_store(where: str) -> StateStore:
    """The store at a path or URL: a local .db or .sqlite file is an SQLite database, anything else a folder of files.

    What an older Accord left there is migrated. Raises `StateRefused` where that cannot be done, `StateUnavailable`
    where the place cannot be used just now, and `ConfigError` where it never can.
    """
    local = where.removeprefix("file://")
    store: VersionedStore
    if local.endswith(SQLITE_SUFFIXES) and "://" not in local:
        store = SqliteStateStore(Path(os.path.expanduser(local)))  # `~`, as fsspec has it for folders
    else:
        store = FsspecStateStore(where)
    bring_up_to_date(store, where)
    return store


def open_or_wait(where: str) -> StateStore:
    """The store as `open_store` has it, or an `AwayStore` where it cannot be used just now, which is logged."""
    try:
        return open_store(where)
    except StateUnavailable as error:
        logger.error("The controller begins without its saved state, and looks for it again: %s", error)
        return AwayStore(where)


def begun_on(where: str, store: StateStore, begin: Callable[[StateStore], T]) -> T:
    """What ``begin`` makes of the store of a place, or of an `AwayStore` where it cannot be read meanwhile."""
    try:
        return begin(store)
    except StateUnavailable as error:
        logger.error("The controller begins without its saved state, and looks for it again: %s", error)
        return begin(AwayStore(where))


class StateIsBack(Exception):
    """The state can be used again: whoever began without it has to begin anew, lest it be written over."""


class AwayStore:
    """Stands for a store that cannot be used: empty, and every write looks whether it still cannot."""

    def __init__(self, where: str) -> None:
        self._where = where

    def read(self, name: str) -> Any | None:
        """See `StateStore.read`."""
        return None

    def write(self, name: str, value: Any) -> None:
        """Writes nothing: raises `StateUnavailable` while the place cannot be used, and `StateIsBack` once all that a
        controller begins with can be read."""
        store = open_store(self._where)
        hours = sorted(store.names(PREFIX))
        for document in (*(each for each in store.names("") if each not in hours), *hours[-2:]):
            try:
                store.read(document)
            except StateUnavailable:
                raise
            except ConfigError as error:  # it is left out when the state is taken up
                logger.error("Of the controller's state, %r is damaged: %s", document, error)
        raise StateIsBack(f"the controller's state at {self._where} can be used again")

    def names(self, prefix: str) -> list[str]:
        """See `StateStore.names`."""
        return []

    def delete(self, name: str) -> None:
        """See `StateStore.delete`."""
