"""What goes wrong in code of the user's: where it was, and that it ends no process."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from catalog.user_code.raised import text_of
from catalog.user_code.source import shown
from deployments.runtimes.base import reason


class UserCodeEnded(RuntimeError):
    """The user's code called ``sys.exit``, cancelled itself, or raised another thing that is no `Exception`."""


@contextmanager
def contained(what: str) -> Iterator[None]:
    """Turn what would end a thread or an event loop into `UserCodeEnded`; ``what`` was called."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ended(what, error) from error


def ended(what: str, error: BaseException) -> UserCodeEnded:
    """The error of a call that raised what is no `Exception`."""
    words = f"{type(error).__name__}({text_of(error)})"
    return UserCodeEnded(f"{what} raised {words}, which would end the worker; raise another exception")


def fault(error: BaseException, folder: Path) -> str:
    """An error with the last line of the user's files below ``folder`` that it came through, on one line."""
    cause = error.__cause__ if isinstance(error, UserCodeEnded) and error.__cause__ is not None else error
    words = reason(error)
    if isinstance(cause, SyntaxError) and cause.filename:
        return f"{shown(cause.filename, folder)}, line {cause.lineno}: {words}"
    frames = traceback.extract_tb(cause.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    if not own:
        return words
    last = own[-1]
    where = "" if last.name == "<module>" else f", in {last.name}"
    return f"{shown(last.filename, folder)}, line {last.lineno}{where}: {words}"
