"""Coroutines of the user's, from threads that have no event loop, or another one."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from deployments.runtimes.user_code.containing import contained

STOP_S = 5.0
"""What is left of a loop that does not end by then goes with the process."""


class Coroutines:
    """An event loop on a thread of its own, which ends with `close`; what coroutines leave running goes on until then.

    ``before`` is called on that thread before each of them.
    """

    def __init__(self, before: Callable[[], None]) -> None:
        self._before = before
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="accord-user-code", daemon=True)
        self._thread.start()

    def result(self, awaitable: Awaitable[Any], what: str) -> Any:
        """Wait for what it gives; what it raises passes through, but for what would end the loop."""
        return asyncio.run_coroutine_threadsafe(self._awaited(awaitable, what), self._loop).result()

    def close(self) -> None:
        """End the loop and all that runs on it."""
        self._loop.call_soon_threadsafe(self._cancel_all)
        self._loop.call_soon_threadsafe(self._loop.call_later, 0.0, self._loop.stop)
        self._thread.join(STOP_S)
        if not self._thread.is_alive():
            self._loop.close()

    def _cancel_all(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    async def _awaited(self, awaitable: Awaitable[Any], what: str) -> Any:
        self._before()
        with contained(what):  # on the loop's own thread: SystemExit would end it, and nobody would hear of that
            return await awaitable
