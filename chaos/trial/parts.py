"""Which processes of a service are what."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import psutil
from chaoslib.exceptions import ActivityFailed

from chaos.services.family import HAPROXY, title
from chaos.services.under_test import UnderTest

REPLICA = "ray::ServeReplica:accord:"
"""What Ray calls the processes of the application, before the name of the deployment."""

OWN = ("Router", "Controller")
"""Deployments that are no pools."""

PARTS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "worker": lambda text: _deployment(text) not in (None, *OWN),
        "router": lambda text: _deployment(text) == "Router",
        "controller": lambda text: _deployment(text) == "Controller",
        "serve-controller": lambda text: text.startswith("ray::ServeController"),
        "proxy-manager": lambda text: text.startswith("ray::HAProxyManager"),
        "proxy": lambda text: HAPROXY in text.split(" ")[0],
        "raylet": lambda text: text.split(" ")[0].endswith("raylet"),
    }
)
"""What each part is called, and whether a process of that title is one."""


def of_part(service: UnderTest, part: str) -> list[psutil.Process]:
    """The processes that are this part, by age; raises ActivityFailed for an unknown part."""
    if part not in PARTS:
        raise ActivityFailed(f"part {part!r} is unknown; the parts of a service are {', '.join(PARTS)}")
    found = [process for process in service.processes() if PARTS[part](title(process))]
    return sorted(found, key=lambda process: process.pid)


def some(service: UnderTest, part: str) -> list[psutil.Process]:
    """The same; raises ActivityFailed where there is none."""
    if not (found := of_part(service, part)):
        raise ActivityFailed(f"service {service.name!r} has no process that is its {part} at the moment")
    return found


def _deployment(text: str) -> str | None:
    """The deployment of a replica's title, which goes on after a dot while Ray runs one of its methods."""
    if not text.startswith(REPLICA):
        return None
    return text.removeprefix(REPLICA).split(".")[0].split(" ")[0]
