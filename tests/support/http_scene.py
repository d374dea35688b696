"""Queries over HTTP for the built-in digits and the toy models, and many of them at once."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import ray

from catalog.zoo.digits import held_out


def until(holds: Any, within_s: float = 60.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline_s, f"not so within {within_s} s"
        time.sleep(0.1)


def digit(index: int, **changes: Any) -> dict[str, Any]:
    image = held_out()[0][index]
    tensor = {"name": "image", "shape": [1, 12, 12], "datatype": "FP32", "data": image.ravel().tolist()}
    return {"inputs": [tensor | changes]}


def toy(*values: float) -> dict[str, Any]:
    return {"inputs": [{"name": "x", "shape": [len(values)], "datatype": "FP32", "data": list(values)}]}


def kill(worker: str) -> None:
    name = next(a["name"] for a in ray.util.list_named_actors(all_namespaces=True) if a["name"].endswith(worker))
    ray.kill(ray.get_actor(name, namespace="serve"))


def hammer(
    client: httpx2.Client, path: str, bodies: list[dict[str, Any]], threads: int, each: int
) -> list[httpx2.Response]:
    """Responses of ``threads`` clients that each send ``each`` requests one after another."""

    def send(first: int) -> list[httpx2.Response]:
        with httpx2.Client(base_url=client.base_url, timeout=60) as own:
            return [own.post(path, json=bodies[(first + i) % len(bodies)]) for i in range(each)]

    with ThreadPoolExecutor(threads) as pool:
        return [response for batch in pool.map(send, range(threads)) for response in batch]
