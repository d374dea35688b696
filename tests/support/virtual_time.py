"""An event loop whose clock jumps to whatever is due next: hours of waiting pass at once, and always alike."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

EPOCH_S = 1_800_000_100.0
"""Wall time when a loop begins: 1 min 40 s past a full hour."""


class _Jumping(selectors.DefaultSelector):
    """Waits for nobody: what it was to wait for is added to the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everyone waits, and nothing is ever going to happen")
        self.now_s += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Begins at 0. What runs on it must not wait for threads or sockets."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s

    def hold_up(self, length_s: float) -> None:
        """The callback that calls this takes so long; nothing else runs meanwhile."""
        self._jumping.now_s += length_s


def in_virtual_time(scene: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Play a scene to its end; what it leaves running is cancelled, and must not have failed."""

    async def whole() -> T:
        result = await scene()
        while others := [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]:
            for task in others:
                task.cancel()  # again and again: `asyncio.wait_for` may miss one
            done, _ = await asyncio.wait(others, timeout=1.0)
            for task in done:
                if not task.cancelled():
                    task.result()
        return result

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(whole())


def wall_clock() -> float:
    """Seconds since the epoch, on the running loop."""
    return EPOCH_S + asyncio.get_running_loop().time()


async def until(holds: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait for something to be so; fails where it is not in time."""
    end_s = wall_clock() + within_s
    while not holds():
        if wall_clock() > end_s:
            raise AssertionError(f"not so within {within_s:g} s")
        await asyncio.sleep(0.01)


def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what goes to another thread done on the spot, since virtual time waits for no thread."""

    async def here(work: Callable[..., T], *args: object) -> T:
        await asyncio.sleep(0)
        return work(*args)

    monkeypatch.setattr(asyncio, "to_thread", here)
