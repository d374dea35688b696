"""Throughput of one model as a class of the user's beside the same model as an ONNX file.

``python -m benchmarks.python_runtime --json``. ``worker`` has batches per second of one worker, in this process, that
holds both, by rows of a batch, as the median batch of a round has it: batches alternate between the two, so that what
else the machine does is spread over both. ``service`` has requests per second of `accord run` at 64 connections, where
both are endpoints of one service and share its worker; rounds alternate there, and the order changes with every round.
Figures are medians over rounds, and ratios are medians of the rounds' own. Answers are compared first.
``--worker-only`` leaves the service out.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson
import yaml

from benchmarks.machine import with_machine
from benchmarks.python_runtime.scene import KINDS, service_config, written_catalogue
from benchmarks.serving.closed_loop import measure
from catalog.catalogue import Catalogue
from catalog.profiles.profiler import sample_inputs
from catalog.zoo.digits import held_out
from deployments.messages.worker import WorkerSpec
from deployments.worker.worker import Worker
from serve_app.testing.served import served

GOAL = 0.9
ROWS = (1, 8, 64)
CONNECTIONS = 64
REQUESTS = 200


def main() -> None:
    """Measure, and print the figures; with --json as one JSON object, last."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object last")
    parser.add_argument("--model", default="digits-mlp", help="built-in variant; the default is the fastest")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one measurement on the worker")
    parser.add_argument("--service-seconds", type=float, default=4.0, help="length of one measurement of the service")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--worker-only", action="store_true", help="do not start the service")
    args = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        catalogue = written_catalogue(folder, args.model)
        found: dict[str, Any] = {"worker": asyncio.run(_on_worker(catalogue, folder, args.rounds, args.seconds))}
        if not args.worker_only:
            found["service"] = _on_service(folder, args.port, args.rounds, args.service_seconds)
    ratios = [each["ratio"] for each in found["worker"].values()]
    ratios += [found["service"]["ratio"]] if "service" in found else []
    body = found | {"model": args.model, "rounds": args.rounds, "goal": GOAL, "goals_met": min(ratios) >= GOAL}
    figures = with_machine(body, rates=KINDS)
    print(orjson.dumps(figures).decode() if args.json else yaml.safe_dump(figures, sort_keys=False))


async def _on_worker(catalogue: Catalogue, folder: Path, rounds: int, seconds: float) -> dict[str, Any]:
    """By rows of a batch, batches per second."""
    worker = Worker(WorkerSpec("cpu", "cpu", 1, catalogue.variants, catalogue.root, str(folder / "cache")))
    found = {}
    for rows in ROWS:
        inputs = sample_inputs(catalogue.variants[0].inputs, rows, seed=0)
        await _check_same(worker, inputs)
        runs: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(rounds):
            for kind, rate in (await _batches_per_s(worker, inputs, seconds)).items():
                runs[kind].append(rate)
        found[str(rows)] = _figures(runs)
        print(f"worker, {rows} rows: {found[str(rows)]}", file=sys.stderr, flush=True)
    return found


async def _check_same(worker: Worker, inputs: Mapping[str, Any]) -> None:
    given = [await worker.run(kind, dict(inputs)) for kind in KINDS]
    faults = [result.error for result in given if result.error is not None]
    if faults:
        raise RuntimeError(f"a variant failed: {faults[0]}")
    for name, array in given[0].outputs.items():
        np.testing.assert_array_equal(array, given[1].outputs[name])


async def _batches_per_s(worker: Worker, inputs: Mapping[str, Any], seconds: float) -> dict[str, float]:
    """By kind, of the median batch of one round; the two take turns."""
    took_s: dict[str, list[float]] = {kind: [] for kind in KINDS}
    end_s = time.perf_counter() + seconds
    number = 0
    while time.perf_counter() < end_s:
        for kind in _order(number):
            began_s = time.perf_counter()
            await worker.run(kind, dict(inputs))
            took_s[kind].append(time.perf_counter() - began_s)
        number += 1
    return {kind: 1 / median(own) for kind, own in took_s.items()}


def _on_service(folder: Path, port: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Requests per second."""
    config = folder / "service.yaml"
    config.write_text(yaml.safe_dump(service_config(folder, port)))
    bodies = [_request(image) for image in held_out()[0][:REQUESTS]]
    command = [str(Path(sys.executable).parent / "accord"), "run", str(config)]
    runs: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with served(command, {}, port, _path(KINDS[0]), bodies[0]):
        for kind in KINDS:
            measure(port, _path(kind), bodies, CONNECTIONS, seconds)  # warm-up
        for number in range(rounds):
            for kind in _order(number):
                measured = measure(port, _path(kind), bodies, CONNECTIONS, seconds)
                if measured.errors:
                    raise RuntimeError(f"{kind}: {measured.errors} errors: {measured.last_error}")
                runs[kind].append(measured.rps)
                print(f"service, {kind}: {measured.rps:.0f} requests/s", file=sys.stderr, flush=True)
    return _figures(runs)


def _order(number: int) -> Sequence[str]:
    return KINDS if number % 2 == 0 else KINDS[::-1]


def _figures(runs: Mapping[str, Sequence[float]]) -> dict[str, float]:
    pairs = zip(runs["python"], runs["onnx"], strict=True)
    return {kind: median(own) for kind, own in runs.items()} | {"ratio": median(one / other for one, other in pairs)}


def _path(kind: str) -> str:
    return f"/v2/models/{kind}/infer"


def _request(image: np.ndarray[Any, Any]) -> bytes:
    data = image.astype(int).ravel().tolist()
    tensor = {"name": "image", "shape": [1, *image.shape], "datatype": "FP32", "data": data}
    return orjson.dumps({"inputs": [tensor]})


if __name__ == "__main__":
    main()
