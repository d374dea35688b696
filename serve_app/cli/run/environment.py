"""The environment that Ray and Serve run Accord in: ``accord run`` sets it, ``accord env`` prints it for a cluster."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from catalog.errors import ConfigError
from catalog.machine_type import cpus_there
from serve_app.cli.config_file import ServeFile
from serve_app.cli.console import exit_codes
from serve_app.grpc.listening import HOST as GRPC_HOST

NODE_ENV = {
    "RAY_SERVE_ENABLE_HA_PROXY": "1",
    "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
    # A batch, and its answers, go between router and worker as one message, which could have 4 MiB: what eight pictures
    # of 3 x 224 x 224 take. How large queries are is bounded at the edge, and batches by their rows.
    "RAY_SERVE_REPLICA_GRPC_MAX_MESSAGE_LENGTH": str(2**31 - 1),
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "serve_app.http.fast_path.middlewares",
    # HAProxy's four threads would take turns with the router and the workers on a small machine.
    "RAY_SERVE_HAPROXY_NBTHREAD": str(max(1, min(4, cpus_there() // 2))),
    # A proxy manager that died is replaced in seconds; HAProxy itself serves on meanwhile (docs/overload.md).
    "RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S": "1",
    # On a busy machine it takes longer than 5 s to start, and Serve would kill it over that and give the start up.
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "30",
    # In high-throughput mode replicas write nothing to standard error, and their log files wait for 1000 records:
    # warnings would come neither into the log of `accord run` nor from there to the terminal.
    "RAY_SERVE_REQUEST_PATH_LOG_BUFFER_SIZE": "1",
    "RAY_SERVE_LOG_TO_STDERR": "1",
    # Ray makes workers yield to whatever else runs (niceness 15): a busy shell would then cost deadlines.
    "RAY_worker_niceness": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Serve's high-throughput settings and Accord's short way into it, for every node; what the environment sets stays."""

# One machine and one router: nobody needs half a minute to learn that it is going.
SERVE_ENV = NODE_ENV | {"RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "1"}
"""`NODE_ENV`, and what holds where there is one node."""

PROXY = "RAY_SERVE_HAPROXY_BINARY_PATH"

AUTH_ENV = {"RAY_AUTH_MODE": "token"}
"""What listens elsewhere of Ray, and Serve's own servers in replicas, would run what anybody sends."""

OWN_CLUSTER_ENV = {
    # Ray takes 127.0.0.1 for the node's address, so that next to nothing of it listens elsewhere.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    **AUTH_ENV,  # Ray makes a token where there is none
}
"""For a cluster of this machine alone."""


def env() -> None:
    """Print, for a shell, what every node of a Ray cluster needs in its environment: eval "$(accord env)"."""
    with exit_codes(as_json=False):
        wanted = NODE_ENV | proxy_env() | AUTH_ENV
        for name, value in wanted.items():
            print(f"export {name}={shlex.quote(os.environ.get(name, value))}")


def proxy_env() -> dict[str, str]:
    """Where Serve finds ``accord-haproxy``; raises `ConfigError` where it is not installed."""
    return {PROXY: installed("accord-haproxy", "pip install -c constraints.txt -e .")}


def grpc_env(file: ServeFile) -> dict[str, str]:
    """Where Serve listens for gRPC, and how large messages may be that it reads: it takes 2 GiB otherwise.

    Answers may be larger than bodies; that a request is larger than those may be, routers say in words.
    """
    return {GRPC_HOST: file.host, "RAY_SERVE_GRPC_MAX_MESSAGE_SIZE": str(4 * file.app.max_body_bytes)}


def installed(name: str, install: str) -> str:
    """Path of a command of this environment, or else of ``PATH``; raises `ConfigError` where there is none."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise ConfigError(f"the command `{name}` is not installed; run `make run`, or `{install}`")
    return found
