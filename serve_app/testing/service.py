"""A service that runs, what is sent to it, and which of its processes are the workers."""

import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from serve_app.loadgen.dataset import Dataset
from serve_app.loadgen.endpoint import Endpoint
from serve_app.testing.fetch import fetch
from serve_app.testing.queries import Queries
from serve_app.testing.sender import Load, Sender
from serve_app.testing.served import START_TIMEOUT_S, served
from workload.rate import RateSchedule
from workload.renewal import Poisson

SOON_S = 0.5
"""A load begins so long after it was asked for, so that whatever goes with it is ready."""

WAIT_S, LOOK_EVERY_S = 3.0, 0.2
"""For one answer about whether a service is ready, and between two of them."""

WORKER_TITLE = "ray::ServeReplica:{application}:{pool}"
"""What Ray calls the process of a worker; after a dot goes on the method that it runs there at the moment."""


@dataclass(frozen=True)
class Service:
    """``ready_s`` are the seconds from its start until it says that it is ready; ``pid`` began it."""

    url: str
    pid: int
    ready_s: float

    def workers(self, application: str, pool: str) -> list[int]:
        """The process ids of the workers of a pool. Raises RuntimeError where there are none."""
        title = WORKER_TITLE.format(application=application, pool=pool)
        family = psutil.Process(self.pid).children(recursive=True)
        called = re.compile(rf"{re.escape(title)}(\.\w+)?")
        found = [process.pid for process in family if called.fullmatch(_title(process))]
        if not found:
            raise RuntimeError(f"no process below {self.pid} is called {title!r}; there is no worker to slow down")
        return found


@contextmanager
def running(
    content: Mapping[str, Any],
    folder: Path,
    endpoint: str,
    body: bytes,
    env: Mapping[str, str] | None = None,
    within_s: float = START_TIMEOUT_S,
) -> Iterator[Service]:
    """``accord run`` with this Serve config until the block ends; it answers ``body`` by then, and says it is ready.

    Raises RuntimeError where it does not within so many seconds.
    """
    port = int(content.get("http_options", {}).get("port", 8000))
    path = folder / "service.yaml"
    path.write_text(yaml.safe_dump(dict(content)), encoding="utf-8")
    command = [sys.executable, "-m", "serve_app.cli.main", "run", str(path)]
    began_s = time.monotonic()
    url = f"http://127.0.0.1:{port}"
    with served(command, env or {}, port, f"/v2/models/{endpoint}/infer", body, within_s) as pid:
        wait_until_ready(url, began_s + within_s)
        yield Service(url, pid, time.monotonic() - began_s)


@contextmanager
def sending(service: Service, endpoint: str, dataset: Dataset) -> Iterator[Sender]:
    """A load generator for one endpoint of a service until the block ends."""
    with Sender(Endpoint(service.url, endpoint).infer_url, dataset) as sender:
        yield sender


def soon(schedule: RateSchedule, duration_s: float, seed: int) -> Load:
    """Poisson arrivals that begin in a moment; the same seed gives the same."""
    return Load(Poisson(schedule, seed).times_s(duration_s), duration_s, time.monotonic() + SOON_S)


def send(sender: Sender, load_qps: float, duration_s: float, seed: int) -> Queries:
    """An even load, to its end."""
    sender.begin(soon(RateSchedule.constant(load_qps), duration_s, seed))
    return sender.finish()


def wait_until_ready(url: str, end_s: float) -> None:
    """Return where the service says that it is ready; raise RuntimeError where it has not by then."""
    while True:
        try:
            fetch(f"{url}/v2/health/ready", WAIT_S)
            return
        except OSError as error:
            if time.monotonic() > end_s:
                raise RuntimeError(f"{url} answers queries and does not say that it is ready: {error}") from error
            time.sleep(LOOK_EVERY_S)


def _title(process: psutil.Process) -> str:
    try:
        return next(iter(process.cmdline()), "").strip()
    except psutil.Error:
        return ""
