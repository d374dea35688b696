"""The variants of ``user_config``: each is registered as soon as there are workers to measure it on."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol

from catalog.errors import AccordError, BadRequest, NameInUse, NoWorker
from catalog.variant import Variant
from deployments.controller.variants.registration import as_variant

logger = logging.getLogger("ray.serve")

RETRY_S = 2.0


class Registry(Protocol):
    """What takes variants, as `Controller` does."""

    def variant(self, name: str) -> Variant | None:
        """The variant of that name which may serve, None where there is none."""
        ...

    async def register(self, described: Mapping[str, Any]) -> dict[str, Any]:
        """Measure a variant and plan with it; raises `NoWorker` or `NameInUse` where a later try may succeed, and
        `BadRequest` for what is wrong with it. Cancelled before it returns, it has registered nothing."""
        ...


class ConfigVariants:
    """Has one task for each variant of the newest ``user_config`` that is not registered yet.

    ``begin`` starts a task. A variant that was registered stays so when its entry is taken out.
    """

    def __init__(self, registry: Registry, begin: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]) -> None:
        self._registry = registry
        self._begin = begin
        self._pending: dict[str, tuple[Mapping[str, Any], asyncio.Task[None]]] = {}

    def follow(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """These are the entries from now on, written as in a catalogue.

        Gives up registering those that are gone or have changed, and begins with those that are new. Logs an error for
        an entry that differs from the variant of its name which serves already, and stays.
        """
        wanted = {str(entry.get("name")): entry for entry in entries}
        if len(wanted) < len(entries):
            logger.error("Names stand more than once in variants of user_config; the last entry of a name counts.")
        for name, (entry, task) in list(self._pending.items()):
            if task.done() or wanted.get(name) != entry:
                task.cancel()
                del self._pending[name]
        for name, entry in wanted.items():
            if name in self._pending:
                continue
            if (serving := self._registry.variant(name)) is None:
                self._pending[name] = entry, self._begin(self._register(entry))
            else:
                _compare(entry, serving)

    async def _register(self, entry: Mapping[str, Any]) -> None:
        """As soon as there are workers to measure it on, and none holds another variant that had its name."""
        while True:
            try:
                await self._registry.register(entry)
                return
            except (NoWorker, NameInUse):
                await asyncio.sleep(RETRY_S)
            except AccordError as error:
                logger.error("Variant %r of user_config was not registered: %s", entry.get("name"), error)
                return


def _compare(entry: Mapping[str, Any], serving: Variant) -> None:
    """Log an error where an entry differs from the variant of its name that serves."""
    try:
        wanted = as_variant(entry)
    except BadRequest as error:
        logger.error("Variant %r of user_config changes nothing: %s", serving.name, error)
        return
    differing = [each.name for each in fields(Variant) if getattr(wanted, each.name) != getattr(serving, each.name)]
    if differing:
        logger.error(
            "Variant %r of user_config differs in %s from the one of that name that serves, which stays as it is; give "
            "the new one another name, or take its entry out, unregister the variant, and put the entry back.",
            serving.name,
            ", ".join(differing),
        )
