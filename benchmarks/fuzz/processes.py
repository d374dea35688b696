"""The processes of a service, by what they are."""

import time

import psutil

ROUTER = ":Router"
WITHIN_S = 60.0

KINDS = ("ray::ServeReplica:", "ray::ServeController", "ray::HAProxyManager", "ray::ProxyActor")
"""What Ray calls those that have to live on."""


def settled(pid: int) -> dict[int, str]:
    """See `processes`, once a router is among them: Ray names a process after it began. Raises RuntimeError."""
    deadline_s = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline_s:
        found = processes(pid)
        if any(ROUTER in title for title in found.values()):
            return found
        time.sleep(0.2)
    raise RuntimeError(f"no process below {pid} is called a router; there is nothing to watch")


def processes(pid: int) -> dict[int, str]:
    """Process id to kind, of the workers, routers, controllers and proxies below the process that began a service."""
    found = {}
    for process in psutil.Process(pid).children(recursive=True):
        try:
            title = next(iter(process.cmdline()), "").strip()
        except psutil.Error:
            continue
        if title.startswith(KINDS) and "IDLE" not in title:
            found[process.pid] = title.partition("(")[0]
    return found


def memory_mb(pids: dict[int, str], kind: str) -> float:
    """Resident memory of the processes of a kind."""
    sizes = (psutil.Process(pid).memory_info().rss for pid, title in pids.items() if kind in title)
    return round(sum(sizes) / 2**20, 1)
