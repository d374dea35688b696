"""Keeps the windows of a running HAProxy, through its admin socket."""

import asyncio
import csv
import re
import sys
from collections.abc import Sequence

from serve_app.proxy.admin_socket import ask
from serve_app.proxy.config_text import Server
from serve_app.proxy.window import FIRST, Seen, next_size

EVERY_S = 0.1
VALUE = re.compile(r"(\S+): type=\w+ value=<(\d+)>")
"""One of HAProxy's variables, as ``get var`` tells of it."""


async def keep_windows(socket: str, servers: Sequence[Server]) -> None:
    """Go round until cancelled; ``socket`` may be gone now and then. A new HAProxy begins with `FIRST`.

    Begun anew whenever the routers are others. An answer that makes no sense, as one that is cut off, changes no
    window; what is wrong with it is written to the error stream, once until it is something else.
    """
    sizes = dict.fromkeys(servers, FIRST)
    wrong = ""
    clock = asyncio.get_running_loop().time
    began_s = clock()
    while servers:
        await asyncio.sleep(EVERY_S)
        try:
            await _once(socket, sizes, clock() - began_s)
        except OSError:
            sizes = dict.fromkeys(servers, FIRST)
        except Exception as error:  # nobody waits for this task, which would end unnoticed
            before, wrong = wrong, f"{type(error).__name__}: {error}"
            if wrong != before:
                sys.stderr.write(
                    f"what HAProxy says of its routers cannot be read, and windows stay as they are: {wrong}\n"
                )
                sys.stderr.flush()


async def _once(socket: str, sizes: dict[Server, int], age_s: float) -> None:
    seen = await look(socket, list(sizes))
    changed = {
        server: size for server, one in seen.items() if (size := next_size(sizes[server], one, age_s)) != sizes[server]
    }
    for server, size in changed.items():
        await ask(socket, f"set maxconn server {server.backend}/{server.name} {size}")
    sizes.update(changed)


async def look(socket: str, servers: Sequence[Server]) -> dict[Server, Seen]:
    """The routers that told how long requests wait there; raises OSError where HAProxy does not answer."""
    found = {}
    for backend in {server.backend for server in servers}:
        here = [server for server in servers if server.backend == backend]
        text = (await ask(socket, f"show stat {backend} 6 -1")).decode(errors="replace")
        rows = {row["svname"]: row for row in csv.DictReader(text.removeprefix("# ").splitlines())}
        for server in here:
            text = (await ask(socket, f"get var {server.variable}; get var {server.refusing_variable}")).decode(
                errors="replace"
            )
            told = {variable: int(pct) for variable, pct in VALUE.findall(text)}
            row, total = rows.get(server.name), rows.get("BACKEND")
            if server.variable in told and row is not None and total is not None:
                waiting = int(total["qcur"] or 0) + int(row["qcur"] or 0)
                refusing_pct = told.get(server.refusing_variable, 0)
                found[server] = Seen(told[server.variable], int(row["scur"] or 0), waiting, refusing_pct)
    return found
