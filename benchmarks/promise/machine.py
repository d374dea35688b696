"""Figures of the machine itself, by which runs on different machines compare."""

import sys
from typing import Any

from benchmarks.machine import machine
from benchmarks.promise.systems import PORT
from benchmarks.serving.closed_loop import measure
from catalog.catalogue import load_catalogue
from serve_app.loadgen.dataset import Dataset
from serve_app.testing.served import served

VARIANT = "digits-mlp"
CONNECTIONS = 64
WARM_UP_S, MEASURING_S = 1.0, 4.0


def machine_figures(dataset: Dataset) -> dict[str, Any]:
    """The machine before anything was measured, and requests/s of one bare uvicorn process with the smallest model."""
    return machine() | {"bare_qps": bare_qps(dataset)}


def bare_qps(dataset: Dataset) -> float:
    """What ``benchmarks.serving`` measures of ``bare``."""
    catalogue = load_catalogue("builtin")
    model = f"{catalogue.root}/{catalogue.variant(VARIANT).artifact.uri}"
    command = [sys.executable, "-m", "uvicorn", "benchmarks.serving.bare:app", "--port", str(PORT)]
    bodies = list(dataset.bodies)
    with served([*command, "--no-access-log", "--lifespan", "off"], {"PEER_MODEL": model}, PORT, "/", bodies[0]):
        measure(PORT, "/", bodies, CONNECTIONS, WARM_UP_S)
        return measure(PORT, "/", bodies, CONNECTIONS, MEASURING_S).rps
