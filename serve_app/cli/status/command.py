"""``accord status``: what the server is doing."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from catalog.errors import ConfigError
from serve_app.cli.call import CallFailed, get_object
from serve_app.cli.console import OUT, exit_codes, print_json
from serve_app.cli.options import DEFAULT_URL, YEAR_S, AsJson, TimeoutS, Url
from serve_app.cli.status.tables import render_status
from serve_app.loadgen.endpoint import base_url


def status(
    url: Url = DEFAULT_URL,
    watch: Annotated[
        float | None,
        typer.Option(min=0.1, max=YEAR_S, help="Refresh every so many seconds until Ctrl-C."),
    ] = None,
    timeout_s: TimeoutS = 5.0,
    as_json: AsJson = False,
) -> None:
    """Show endpoints, the variants that answer them, and workers."""
    with exit_codes(as_json):
        if watch is not None and as_json:
            raise ConfigError("--watch with --json, which prints a single object; leave one of them out")
        body = _fetch(url, timeout_s)
        if as_json:
            print_json(body)
        elif watch is None:
            OUT.print(render_status(body))
        else:
            _watch(url, timeout_s, watch, body)


def _fetch(url: str, timeout_s: float) -> dict[str, Any]:
    server_url = base_url(url)
    return asyncio.run(get_object(f"{server_url}/accord/status", server_url, timeout_s))


def _watch(url: str, timeout_s: float, every_s: float, body: dict[str, Any]) -> None:
    """Go on where the server is busy, restarts or is gone: it is then that people watch."""
    last, at = render_status(body), _clock()
    try:
        with _showing() as show:
            show(last)
            while True:
                time.sleep(every_s)
                try:
                    last, at = render_status(_fetch(url, timeout_s)), _clock()
                    show(last)
                except CallFailed as error:
                    show(_outdated(last, at, error))
    except KeyboardInterrupt:
        return


@contextmanager
def _showing() -> Iterator[Callable[[RenderableType], None]]:
    """In place on a terminal; in a file or a pipe one below the other, each with its time."""
    if not OUT.is_terminal:
        yield lambda view: OUT.print(Group(Text(_clock()), view))
        return
    with Live(console=OUT, auto_refresh=False) as live:
        yield lambda view: live.update(view, refresh=True)


def _outdated(last: RenderableType, at: str, error: CallFailed) -> Group:
    return Group(last, Text(f"As of {at}. At {_clock()}: {error}", style="yellow"))


def _clock() -> str:
    return time.strftime("%H:%M:%S")
