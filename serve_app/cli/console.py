"""What every command prints with: results on standard output, all else on standard error, and exit codes."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import orjson
import typer
from rich.console import Console
from rich.text import Text

from catalog.errors import AccordError, ConfigError
from serve_app.shadowing import ShadowedPackage

PIPED_WIDTH = 160
"""Columns of tables in files and pipes, which have no width of their own; ``COLUMNS`` says another."""


def _open_what_is_closed() -> None:
    """Let standard streams that the caller has closed lead nowhere, here and in what is started from here.

    Otherwise the next file or socket would get their number, and whatever is printed; Python itself has None for them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115, it gets the lowest number that is free
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _width(stream: TextIO) -> int | None:
    """None where the terminal, or ``COLUMNS``, says it."""
    return None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH


_open_what_is_closed()
OUT = Console(width=_width(sys.stdout))
ERR = Console(stderr=True, width=_width(sys.stderr))

FAILURE = 1
USAGE = 2


def print_json(value: Any) -> None:
    """One JSON object on one line of standard output; numbers that are not finite become null."""
    typer.echo(orjson.dumps(value).decode())


@contextmanager
def exit_codes(as_json: bool) -> Iterator[None]:
    """Turn our errors into a message and an exit code: 2 for what the person typed, 1 for everything else.

    With ``as_json`` the object on standard output is ``{"error": message}``. What the system refuses, as where a disk
    is full, is told in its words; of a pipe that was closed nobody wants to hear.
    """
    try:
        yield
    except (AccordError, ShadowedPackage) as error:
        if as_json:
            print_json({"error": str(error)})
        ERR.print(Text(f"error: {error}"), style="red", soft_wrap=True)
        raise typer.Exit(USAGE if isinstance(error, ConfigError | ShadowedPackage) else FAILURE) from error
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        if as_json:
            with suppress(OSError):  # it may be standard output itself
                print_json({"error": str(error)})
        ERR.print(Text(f"error: {error}"), style="red", soft_wrap=True)
        raise typer.Exit(FAILURE) from error
