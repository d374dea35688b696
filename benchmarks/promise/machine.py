"""Figures of the machine itself, by which runs on different machines compare."""

import os
import platform
import sys
import time
from typing import Any

import numpy as np

from benchmarks.closed_loop import measure
from benchmarks.promise.systems import PORT
from benchmarks.served import served
from catalog.catalogue import load_catalogue
from catalog.profile_cache import cpu_description
from serve_app.loadgen.dataset import Dataset

VARIANT = "digits-mlp"
CONNECTIONS = 64
WARM_UP_S, MEASURING_S = 1.0, 4.0
SIZE, TIMES = 256, 40
ROUNDS = 5


def machine_figures(dataset: Dataset) -> dict[str, Any]:
    """CPU and cores; requests/s of one bare uvicorn process with the smallest model; GFLOP/s of a matrix product.

    ``load_average`` is that of the last minute before anything was measured: what else runs distorts all figures.
    """
    load_average = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cpu": cpu_description(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_average": load_average,
        "bare_qps": bare_qps(dataset),
        "matrix_gflops": matrix_gflops(),
    }


def bare_qps(dataset: Dataset) -> float:
    """What ``benchmarks.serving`` measures of ``bare``."""
    catalogue = load_catalogue("builtin")
    model = f"{catalogue.root}/{catalogue.variant(VARIANT).artifact.uri}"
    command = [sys.executable, "-m", "uvicorn", "benchmarks.serving_peers.bare:app", "--port", str(PORT)]
    bodies = list(dataset.bodies)
    with served([*command, "--no-access-log", "--lifespan", "off"], {"PEER_MODEL": model}, PORT, "/", bodies[0]):
        measure(PORT, "/", bodies, CONNECTIONS, WARM_UP_S)
        return measure(PORT, "/", bodies, CONNECTIONS, MEASURING_S).rps


def matrix_gflops() -> float:
    """Products of square single-precision matrices, the best of a few rounds, with the threads that numpy takes."""
    matrix = np.random.default_rng(0).standard_normal((SIZE, SIZE), dtype=np.float32)
    best_s = float("inf")
    for _ in range(ROUNDS):
        began_s = time.perf_counter()
        for _ in range(TIMES):
            matrix @ matrix
        best_s = min(best_s, time.perf_counter() - began_s)
    return 2.0 * SIZE**3 * TIMES / best_s / 1e9
