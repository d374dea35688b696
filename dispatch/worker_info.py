"""What is known of a worker before it has run anything."""

from collections.abc import Mapping
from typing import NamedTuple


class WorkerInfo(NamedTuple):
    """The kind of a worker and where it stands.

    ``device`` is the device type that profiles are for; ``pool`` is empty where there are no pools, ``node`` where the
    machine is unknown. ``machine`` is the type of that machine, as interference is measured for, empty where nobody
    said. A ``preemptible`` worker may be taken away at any time, for which it costs less.
    """

    device: str
    pool: str = ""
    node: str = ""
    preemptible: bool = False
    machine: str = ""


def workers_of(devices: Mapping[str, str]) -> dict[str, WorkerInfo]:
    """Workers of which only the device type is known, each on a node of its own, from worker id to device type."""
    return {worker: WorkerInfo(device) for worker, device in devices.items()}
