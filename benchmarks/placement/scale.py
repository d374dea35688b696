"""How long one placement decision and the update of one machine take, with many machines and variants."""

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from autoscaler.placement.interference import PredictedInterference
from autoscaler.placement.machine import LatencySum, Machine
from autoscaler.placement.machine_costs import MachineCosts
from benchmarks.placement.synthetic import MOST_TOGETHER, synthetic_predictor

T = TypeVar("T")

MACHINE_TYPES = tuple(f"type-{number}" for number in range(7))
"""As many as the paper has."""
ROOM = MOST_TOGETHER
SETS = 20
"""So many sets of running variants, drawn for every machine type: machines begin with one of them each."""

REMOVE_EVERY = 4
"""After so many placements one variant is removed, so that with fewer no removal is timed."""

PLACE_GOAL_MS, UPDATE_GOAL_MS = 1.0, 50.0


def measure(machines: int, variants: int, placements: int, kind: str, seed: int) -> dict[str, Any]:
    """Place so many variants, one after another: times of decisions and updates in ms, and whether the goals are met.

    An update is all that follows from a variant's coming or going, predictions included; each is of a set of variants
    that was not seen before, so that nothing is remembered. ``kind`` is the predictor's. Goals are for 95% of the
    processor's times: all is one thread, so that this is what it takes where a core is free. ``placements`` are
    `REMOVE_EVERY` at least.
    """
    rng = np.random.default_rng(seed)
    names = [f"v{number:04d}" for number in range(variants)]
    predictor = synthetic_predictor(names, MACHINE_TYPES, kind, rng)
    alone_s = {
        (machine, variant): float(rng.lognormal(-4.0, 0.8))
        for machine in MACHINE_TYPES
        for variant in names
        if rng.random() < 0.9
    }
    there = [Machine(f"m{number:04d}", MACHINE_TYPES[number % len(MACHINE_TYPES)], ROOM) for number in range(machines)]
    sets = {machine: _sets(rng, machine, names, alone_s) for machine in MACHINE_TYPES}
    running = {machine.name: sets[machine.type][int(rng.integers(SETS))] for machine in there}
    cost = LatencySum(alone_s, PredictedInterference(predictor, most_kept=0))
    began_s = time.perf_counter()
    costs = MachineCosts(names, there, cost, running)
    start_s = time.perf_counter() - began_s
    gc.collect()
    gc.freeze()  # else every tenth update has a look at all that was ever imported, which takes 80 ms
    clock = Clock()
    for number in range(placements):
        variant = str(rng.choice(names))
        machine = clock.time("place", partial(costs.place, variant))
        clock.time("two_choices", partial(costs.power_of_two, variant, rng))
        if machine is not None:
            clock.time("add", partial(costs.add, variant, machine))
        if number % REMOVE_EVERY == REMOVE_EVERY - 1:
            gone, left = _drawn(rng, costs, there)
            clock.time("remove", partial(costs.remove, gone, left))
    gc.unfreeze()
    found: dict[str, Any] = clock.summary
    goals = {
        "place_ms": found["place_ms"]["cpu_p95"] < PLACE_GOAL_MS,
        "update_ms": max(found["add_ms"]["cpu_p95"], found["remove_ms"]["cpu_p95"]) < UPDATE_GOAL_MS,
    }
    return {
        "predictor": kind,
        "machines": machines,
        "variants": variants,
        "machine_types": len(MACHINE_TYPES),
        "room": ROOM,
        "placements": placements,
        "start_s": start_s,
        **found,
        "goals": {"place_ms": PLACE_GOAL_MS, "update_ms": UPDATE_GOAL_MS},
        "goals_met": goals,
    }


def _sets(
    rng: np.random.Generator, machine: str, names: list[str], alone_s: dict[tuple[str, str], float]
) -> list[tuple[str, ...]]:
    possible = [name for name in names if (machine, name) in alone_s]
    return [tuple(rng.choice(possible, rng.integers(1, ROOM)).tolist()) for _ in range(SETS)]


def _drawn(rng: np.random.Generator, costs: MachineCosts, machines: list[Machine]) -> tuple[str, str]:
    """A variant that runs somewhere, and where: what remains is a set that was not seen before, mostly."""
    while True:
        name = machines[int(rng.integers(len(machines)))].name
        if own := costs.running(name):
            return str(rng.choice(own)), name


class Clock:
    """Times calls: by the clock on the wall, and by that of the processor, which other processes don't slow down."""

    def __init__(self) -> None:
        self._times_s: dict[str, list[tuple[float, float]]] = {}

    def time(self, name: str, call: Callable[[], T]) -> T:
        """The call's result; its times are kept under the name."""
        began_s = time.perf_counter(), time.process_time()
        result = call()
        times_s = time.perf_counter() - began_s[0], time.process_time() - began_s[1]
        self._times_s.setdefault(name, []).append(times_s)
        return result

    @property
    def summary(self) -> dict[str, dict[str, float]]:
        """Milliseconds by name; ``cpu_`` is the processor's time."""
        found = {}
        for name, times_s in self._times_s.items():
            wall_ms, cpu_ms = 1e3 * np.array(times_s).T
            found[f"{name}_ms"] = {
                "median": float(np.median(wall_ms)),
                "p95": float(np.quantile(wall_ms, 0.95)),
                "max": float(wall_ms.max()),
                "cpu_median": float(np.median(cpu_ms)),
                "cpu_p95": float(np.quantile(cpu_ms, 0.95)),
            }
        return found
