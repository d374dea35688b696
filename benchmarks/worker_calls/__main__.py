"""What a batch costs on its way to a worker and back: by Serve's handle, a Unix socket, and TCP on loopback.

``python -m benchmarks.worker_calls --json``. One worker with the fastest built-in variant and one process that calls it
as routers do, both replicas of a Ray cluster of this benchmark's own, as `accord run` sets Serve up. Batches follow one
another; the ways take turns, and figures are medians over the rounds: the way of a batch, which is its time less its
run, and the processor time of both processes for it (the worker's without the run). ``--pause-ms`` waits between
batches, which makes each wake both processes up.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from benchmarks.arguments import at_least_0, whole
from benchmarks.machine import with_machine
from catalog.catalogue import Catalogue, load_catalogue
from catalog.profiles.profiler import sample_inputs
from deployments.messages.worker import WorkerSpec
from serve_app.cli.run.environment import SERVE_ENV

VARIANT = "digits-mlp"
PART = 0.5
"""Of the handle's way and of the router's processor time for it a socket is to take at most."""


def main() -> None:
    """Measure and print."""
    args = _arguments()
    os.environ.update({"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"} | SERVE_ENV)
    with TemporaryDirectory(prefix="wc") as folder:
        found = measured(Path(folder), args.rows, args.batches, args.rounds, args.pause_ms / 1e3)
    shares = [
        each[way][key] / each["handle"][key]
        for each in found.values()
        for way in ("unix_socket", "tcp")
        for key in ("way_ms", "router_cpu_ms")
    ]
    body = {"pause_ms": args.pause_ms, "batches": args.batches, "rows": found}
    body |= {"largest_share": max(shares), "goal": PART, "goals_met": max(shares) <= PART}
    body = with_machine(body, times=("way_ms", "router_cpu_ms", "worker_cpu_ms"))
    if args.json:
        print(orjson.dumps(body).decode())
    else:
        _print(found)


def measured(
    folder: Path, rows: Sequence[int], batches: int, rounds: int, pause_s: float
) -> dict[str, dict[str, dict[str, float]]]:
    """By rows of a batch and way the medians of `Cost`; in a Ray cluster that begins and ends here."""
    import ray

    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, _temp_dir=str(folder / "r"))
    try:
        return _measured(load_catalogue("builtin"), folder, rows, batches, rounds, pause_s)
    finally:
        ray.shutdown()


def _measured(
    catalogue: Catalogue, folder: Path, rows: Sequence[int], batches: int, rounds: int, pause_s: float
) -> dict[str, dict[str, dict[str, float]]]:
    from ray import serve
    from ray.serve.config import RequestRouterConfig

    from benchmarks.worker_calls.caller import POOL, WAYS, CallerDeployment, Cost
    from deployments.worker.replica import WorkerDeployment

    variant = catalogue.variant(VARIANT)
    spec = WorkerSpec(POOL, "cpu", 1, (variant,), catalogue.root, str(folder / "cache"))
    worker = WorkerDeployment.options(
        name=POOL,
        max_ongoing_requests=16,
        ray_actor_options={"num_cpus": 0.1},
        request_router_config=RequestRouterConfig(
            request_router_class="deployments.worker.address:WorkerAddressRouter"
        ),
    )
    serve.start(proxy_location="Disabled")
    caller = serve.run(CallerDeployment.bind(worker.bind(spec)), name="calls", route_prefix=None)

    async def measure() -> dict[str, dict[str, dict[str, float]]]:
        await caller.connect.remote()
        found = {}
        for number in rows:
            inputs = sample_inputs(variant.inputs, number, seed=0)
            seen: dict[str, list[Cost]] = {way: [] for way in WAYS}
            for turn in range(rounds):
                for way in WAYS if turn % 2 == 0 else WAYS[::-1]:
                    cost = await caller.measure.remote(way, VARIANT, inputs, batches, pause_s)
                    seen[way].append(cost)
                    print(f"{number} rows, {way}: {cost}", file=sys.stderr, flush=True)
            found[f"{number}"] = {
                way: {f.name: median(asdict(cost)[f.name] for cost in costs) for f in fields(Cost)}
                for way, costs in seen.items()
            }
        return found

    return asyncio.run(measure())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--rows", type=_numbers, default=[1, 16, 256], help="of a batch (default 1,16,256)")
    parser.add_argument("--batches", type=whole, default=500, help="in a round (default %(default)s)")
    parser.add_argument("--rounds", type=whole, default=3, help="of every way (default %(default)s)")
    parser.add_argument("--pause-ms", type=at_least_0, default=0.0, help="between batches (default %(default)s)")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    return [whole(part) for part in text.split(",")]


def _print(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    table = Table(title="A batch on its way, ms")
    for heading in ("rows", "by", "way", "95th percentile", "router's CPU", "worker's CPU"):
        table.add_column(heading, justify="left" if heading == "by" else "right")
    for rows, ways in found.items():
        for way, cost in ways.items():
            table.add_row(rows, way.replace("_", " "), *(f"{each:.2f}" for each in cost.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
