"""``accord status``: what the server is doing."""

import asyncio
import time
from typing import Annotated, Any

import typer
from rich.live import Live

from catalog.errors import ConfigError
from serve_app.cli.call import get_object
from serve_app.cli.console import OUT, exit_codes, print_json
from serve_app.cli.options import DEFAULT_URL, AsJson, TimeoutS, Url
from serve_app.cli.status.tables import render_status
from serve_app.loadgen.endpoint import base_url


def status(
    url: Url = DEFAULT_URL,
    watch: Annotated[float | None, typer.Option(min=0.1, help="Refresh every so many seconds until Ctrl-C.")] = None,
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
    try:
        with Live(render_status(body), console=OUT, auto_refresh=False) as live:
            while True:
                time.sleep(every_s)
                live.update(render_status(_fetch(url, timeout_s)), refresh=True)
    except KeyboardInterrupt:
        return
