"""`accord run` in a process of its own, as people start it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

ROOT = Path(__file__).parents[2]
ACCORD = [sys.executable, "-m", "serve_app.cli.main"]


@dataclass
class Started:
    """A service that printed how to query it: ``line``; ``log`` is what it writes to standard error."""

    url: str
    line: str
    process: subprocess.Popen[str]
    log: Path


@contextmanager
def started(
    config: Path | None,
    url: str,
    ports: Sequence[int],
    env: Mapping[str, str],
    *options: str,
    log: Path,
    folder: Path = ROOT,
) -> Iterator[Started]:
    """Run a config, or what ``folder`` holds, until the end of the block; ``ports`` are two free ones, for HAProxy."""
    sockets = Path(mkdtemp(prefix="hap"))  # HAProxy takes socket paths of 97 characters at most
    proxy = {
        "RAY_SERVE_HAPROXY_METRICS_PORT": str(ports[0]),
        "RAY_SERVE_HAPROXY_STATS_PORT": str(ports[1]),
        "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": str(sockets / "haproxy.cfg"),
        "RAY_SERVE_HAPROXY_SOCKET_PATH": str(sockets / "admin.sock"),
        "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": str(sockets),
        "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": str(sockets / "server-state"),
    }
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*ACCORD, "run", *options, *([] if config is None else [str(config)])],
            cwd=folder,
            env={**os.environ, **proxy, **env},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdout is not None
        try:
            line = next((text for text in process.stdout if text.startswith("curl ")), None)
            assert line is not None, log.read_text()[-3000:]
            yield Started(url, line, process, log)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(90)
            process.stdout.close()
            rmtree(sockets, ignore_errors=True)


def accord(*arguments: str) -> dict[str, Any]:
    """The JSON that a command prints."""
    done = subprocess.run(
        [*ACCORD, *arguments, "--json"], cwd=ROOT, capture_output=True, text=True, timeout=90, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result
