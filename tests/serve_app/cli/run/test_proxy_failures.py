"""The proxy of a running service dies, in every one of its parts; clients keep asking meanwhile."""

import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import yaml

from run_scene import ROOT, Started, started
from serve_app.testing.free_ports import find_free_port
from serve_app.yielding import FIRST, NICENESS, may_stop_yielding

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

WITHIN_S = 60.0
READY = "/v2/health/ready"


@pytest.fixture(scope="module")
def service(free_port: int, free_ports: list[int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """The quickstart on a free port."""
    folder = tmp_path_factory.mktemp("run")
    config = yaml.safe_load((ROOT / "configs" / "quickstart.yaml").read_text())
    config["http_options"]["port"] = free_port
    config["grpc_options"]["port"] = find_free_port()
    path = folder / "quickstart.yaml"
    path.write_text(yaml.safe_dump(config))
    with started(path, f"http://127.0.0.1:{free_port}", free_ports, {}, log=folder / "log") as running:
        yield running


@dataclass
class Watch:
    """Asks for a path that exists, again and again; ``refused`` are connections without an answer."""

    port: int
    statuses: list[int] = field(default_factory=list)
    refused: int = 0

    def __enter__(self) -> "Watch":
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.02):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            try:
                connection.request("GET", READY)
                self.statuses.append(connection.getresponse().status)
            except OSError:
                self.refused += 1
            finally:
                connection.close()


def named(service: Started, fits: Callable[[str], bool]) -> list[psutil.Process]:
    found = []
    for process in psutil.Process(service.process.pid).children(recursive=True):
        try:
            if fits(process.name()) or fits(" ".join(process.cmdline())):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def until(holds: Callable[[], object]) -> None:
    end_s = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < end_s
        time.sleep(0.1)


def managers(service: Started) -> list[psutil.Process]:
    """While one of its methods runs, Ray has that in the title."""
    return named(service, lambda name: name.startswith("ray::HAProxyManager"))


def port_of(service: Started) -> int:
    return int(service.url.rpartition(":")[2])


def test_haproxy_is_there_again_and_nothing_is_not_found(service: Started) -> None:
    (haproxy,) = named(service, lambda name: name == "haproxy")
    with Watch(port_of(service)) as watch:
        until(lambda: watch.statuses)
        haproxy.kill()
        until(lambda: [one.pid for one in named(service, lambda name: name == "haproxy")] not in ([], [haproxy.pid]))
        seen = len(watch.statuses)
        until(lambda: 200 in watch.statuses[seen:])
    assert set(watch.statuses) <= {200, 503}


def test_a_manager_that_dies_costs_no_request(service: Started) -> None:
    (manager,) = managers(service)
    with Watch(port_of(service)) as watch:
        until(lambda: watch.statuses)
        manager.kill()
        next_ones: list[psutil.Process] = []
        until(lambda: next_ones.extend(one for one in managers(service) if one.pid != manager.pid) or next_ones)
        (new,) = next_ones
        until(lambda: [child for child in new.children() if "accord-haproxy" in " ".join(child.cmdline())])
        seen = len(watch.statuses)
        until(lambda: len(watch.statuses) > seen + 50)
    assert set(watch.statuses) == {200}
    assert watch.refused == 0


def test_what_counts_and_watches_yields_to_what_answers(service: Started) -> None:
    def niceness(part: str) -> set[int]:
        return {process.nice() for process in named(service, lambda name: part in name)}

    own = psutil.Process().nice()
    yields = max(own, NICENESS)
    for part, wanted in (
        ("ray::HAProxyManager", yields if may_stop_yielding() else own),
        ("ray::DashboardAgent", yields),
        ("log_monitor.py", yields),
    ):
        until(lambda part=part, wanted=wanted: niceness(part) == {wanted})  # type: ignore[misc]
    for part in ("accord-haproxy", "ray::ServeReplica:accord:cpu"):
        assert niceness(part) == {own}
    assert niceness("ray::ServeReplica:accord:Router") == {max(own - FIRST, -20) if may_stop_yielding() else own}
    assert {each.nice() for each in named(service, lambda name: name == "haproxy")} == {own}


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel has no autogroups")
def test_the_proxy_goes_before_all_other_sessions(service: Started) -> None:
    proxies = named(service, lambda name: name == "haproxy")
    (router,) = named(service, lambda name: "ray::ServeReplica:accord:Router" in name)
    assert proxies
    for proxy in proxies:
        assert os.getsid(proxy.pid) != os.getsid(router.pid)
        niceness = Path(f"/proc/{proxy.pid}/autogroup").read_text().split()[-1]
        assert niceness == (f"{-FIRST}" if may_stop_yielding() else "0")


def test_the_service_is_whole_afterwards(service: Started) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port_of(service), timeout=30)
    connection.request("GET", "/accord/status")
    status = json.loads(connection.getresponse().read())
    connection.close()
    assert status["endpoints"]["digits"]["ready"]
