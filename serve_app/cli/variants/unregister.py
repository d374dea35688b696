"""``accord unregister``: take registered variants out of a running server."""

import asyncio
from typing import Annotated
from urllib.parse import quote

import typer

from serve_app.cli.call import CallFailed, delete_object
from serve_app.cli.console import OUT, exit_codes, print_json
from serve_app.cli.options import DEFAULT_URL, AsJson, Url
from serve_app.loadgen.endpoint import base_url

TIMEOUT_S = 10.0


def unregister(
    names: Annotated[list[str], typer.Argument(help="Names of variants that were registered.")],
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Let a running server plan without variants that were registered; those of its config stay."""
    with exit_codes(as_json):
        server_url = base_url(url)
        gone: list[str] = []
        for name in names:
            path = f"{server_url}/accord/variants/{quote(name, safe='')}"
            try:
                asyncio.run(delete_object(path, server_url, TIMEOUT_S))
            except CallFailed as error:
                already = f"; unregistered before it: {', '.join(gone)}" if gone else ""
                raise CallFailed(f"variant {name!r} is not unregistered: {error}{already}") from error
            gone.append(name)
        if as_json:
            print_json({"variants": gone})
        else:
            OUT.print(f"Unregistered: {', '.join(gone)}", highlight=False, markup=False)
