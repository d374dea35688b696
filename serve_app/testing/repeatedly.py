"""Something done again and again beside a run."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Repeatedly:
    """Calls ``action`` every so many seconds, on a thread of its own, for as long as the block runs.

    An action that raises is the last one; the block raises what it raised at its end, unless it ends by an exception
    of its own.
    """

    def __init__(self, action: Callable[[], None], every_s: float) -> None:
        self._action = action
        self._every_s = every_s
        self._error: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    def _run(self) -> None:
        try:
            while not self._over.wait(self._every_s):
                self._action()
        except BaseException as error:
            self._error = error
