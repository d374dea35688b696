"""The version of what a store holds: an older one is migrated when it is opened, a newer one is refused."""

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from catalog.errors import StateRefused
from deployments.state.store import StateStore

logger = logging.getLogger("ray.serve")

VERSION = 2
UNMARKED = 1
"""What stores hold that say nothing of it: they are of before there were versions."""

Migration = Callable[[StateStore], None]
"""From one version to the next. May be cut off anywhere and is run again then, so it must bear its own work."""


class VersionedStore(StateStore, Protocol):
    """A store that has a mark of its own for the version, 0 while there is none."""

    def version(self) -> int:
        """The mark; raises `StateRefused` where it is unreadable."""

    def mark(self, version: int) -> None:
        """Set the mark, for good."""


def _from_unmarked(store: StateStore) -> None:
    """Version 2 has the mark; documents are read as before."""


MIGRATIONS: Mapping[int, Migration] = MappingProxyType({UNMARKED: _from_unmarked})
"""By the version that they begin with."""


def bring_up_to_date(
    store: VersionedStore, where: str, newest: int = VERSION, migrations: Mapping[int, Migration] = MIGRATIONS
) -> None:
    """Migrate a store to the ``newest`` version, step by step; blocks.

    Raises `StateRefused` for one that this Accord does not know, which is left as it is.
    """
    version = store.version() or (UNMARKED if store.names("") else newest)
    if version > newest:
        raise StateRefused(
            f"the controller's state at {where} has version {version}, and this Accord knows versions up to {newest}: "
            "a newer one has written it; run that one, or set controller.state to another place to begin anew"
        )
    if any(step not in migrations for step in range(version, newest)):
        raise StateRefused(
            f"the controller's state at {where} has version {version}, which this Accord (version {newest}) cannot "
            "migrate; run an older Accord in between, or set controller.state to another place to begin anew"
        )
    for step in range(version, newest):
        logger.info("The controller's state at %s is migrated from version %d to %d.", where, step, step + 1)
        migrations[step](store)
        store.mark(step + 1)
    if store.version() != newest:
        store.mark(newest)
