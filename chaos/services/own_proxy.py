"""Ports and paths for a HAProxy of a service's own, so that several services may run on one machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from serve_app.testing.free_ports import find_free_port


@contextmanager
def own_proxy() -> Iterator[tuple[Path, dict[str, str]]]:
    """A short folder for HAProxy's files, and the environment that has a service use it; removed at the end."""
    folder = Path(mkdtemp(prefix="chp"))  # HAProxy takes socket paths of 97 characters at most
    try:
        yield (
            folder,
            {
                # Serve's own proxies of two services would share their port, and answer for each other.
                "RAY_SERVE_FALLBACK_PROXY_HTTP_PORT": str(find_free_port()),
                "RAY_SERVE_FALLBACK_PROXY_GRPC_PORT": str(find_free_port()),
                "RAY_SERVE_HAPROXY_METRICS_PORT": str(find_free_port()),
                "RAY_SERVE_HAPROXY_STATS_PORT": str(find_free_port()),
                "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": str(folder / "haproxy.cfg"),
                "RAY_SERVE_HAPROXY_SOCKET_PATH": str(folder / "admin.sock"),
                "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": str(folder),
                "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": str(folder / "server-state"),
            },
        )
    finally:
        rmtree(folder, ignore_errors=True)
