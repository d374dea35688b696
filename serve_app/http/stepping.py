"""Coroutines whose first step is taken by hand: a message that is there already needs neither a task nor a timer."""

from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Stepped(Generic[T]):
    """Begins a coroutine at once. Where it is not ``done`` by then, await this for the rest, once.

    ``result`` is what it returned; what it raises comes from here.
    """

    __slots__ = ("_awaited", "_coroutine", "done", "result")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self.done = False
        self.result: T | None = None
        try:
            self._awaited = coroutine.send(None)
        except StopIteration as finished:
            self.done, self.result = True, finished.value

    def __await__(self) -> Generator[Any, Any, T]:
        awaited = self._awaited
        while True:
            try:
                try:
                    yield awaited
                except BaseException as error:
                    awaited = self._coroutine.throw(error)
                else:
                    awaited = self._coroutine.send(None)
            except StopIteration as finished:
                return finished.value  # type: ignore[no-any-return]
