"""How fast the machine is, in the run that a figure is from: machines differ by more than a factor of two, and shared
ones do so within minutes."""

import heapq
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from catalog.profiles.profile_cache import cpu_description

EVENTS = 20_000
SIZE, PRODUCTS = 256, 10
ROUNDS = 5


def loop_s() -> float:
    """What a fixed event loop takes, pushing to a heap and popping from it, in pure Python: the median of a few."""
    return _median_s(_loop)


def product_s() -> float:
    """What a few products of square single-precision matrices take, with the threads that numpy takes: the median."""
    matrix = np.random.default_rng(0).standard_normal((SIZE, SIZE), dtype=np.float32)

    def products() -> None:
        for _ in range(PRODUCTS):
            matrix @ matrix

    return _median_s(products)


def machine() -> dict[str, Any]:
    """The machine as it is now; ``load_average`` is of the last minute: what else runs distorts all figures."""
    return {
        "cpu": cpu_description(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "loop_s": loop_s(),
        "product_s": product_s(),
    }


def with_machine(body: Mapping[str, Any], *, times: Iterable[str] = (), rates: Iterable[str] = ()) -> dict[str, Any]:
    """A benchmark's JSON object with ``machine``, and its time figures as ``multiples`` of what the machine takes.

    ``times`` and ``rates`` name the keys, wherever they stand, that hold seconds (``_ms``: milliseconds), or below
    which all do, and events per second. A time is given in ``loops`` and ``products`` of the machine, a rate in events
    per each of these.
    """
    now = machine()
    found = {}
    for path, value in _numbers(body):
        key = path[-1]
        if not set(times).isdisjoint(path):
            seconds = value / 1e3 if key.endswith("_ms") else value
            found[".".join(path)] = {"loops": seconds / now["loop_s"], "products": seconds / now["product_s"]}
        elif key in set(rates):
            found[".".join(path)] = {"per_loop": value * now["loop_s"], "per_product": value * now["product_s"]}
    return {**body, "machine": now, "multiples": found}


def _numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every number below a value, with the keys that lead there."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(inner, (*path, str(key)))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for number, inner in enumerate(value):
            if isinstance(inner, Mapping):
                yield from _numbers(inner, (*path, str(number)))
    elif isinstance(value, int | float) and not isinstance(value, bool) and path:
        yield path, float(value)


def _median_s(work: Callable[[], None]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        began_s = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began_s)
    return median(seconds)


def _loop() -> None:
    heap: list[tuple[int, int]] = []
    for number in range(EVENTS):
        heapq.heappush(heap, (number * 7919 % EVENTS, number))
        if number % 2:
            heapq.heappop(heap)
