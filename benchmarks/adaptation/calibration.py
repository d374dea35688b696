"""How much load makes the planner give up accuracy, by its own account."""

from dataclasses import dataclass
from typing import Any

from benchmarks.adaptation.service import Service
from benchmarks.adaptation.traffic import shared_out

FROM_QPS = 10.0
GROWTH = 1.05
GIVEN_UP_POINTS = 0.3
"""So much below its best, expected accuracy counts as given up."""

STEP_BEYOND = 1.25
"""The step goes this many times as far as the load at which accuracy is given up."""

SWITCH_PART = 0.7
"""Objectives change under this part of the load at which workers would hold something else anyway: so close that an
objective decides, although the load is estimated up to a third too high."""

STEP_FACTOR = 4.0
"""The step is this many times the base load, or more."""

BEYOND_ROOM = 1.5
"""So much more than the plan for the base load has room for, or no plan would have to follow: estimates of the base
load are up to a third too high, and room with them."""


@dataclass(frozen=True)
class Loads:
    """Of all endpoints together, in queries per second. ``gives_up_at_qps`` is None where that is beyond the most."""

    base_qps: float
    step_qps: float
    gives_up_at_qps: float | None
    best_accuracy_pct: float


def calibrate(service: Service, most_qps: float) -> Loads:
    """Ask the planner for plans for rising loads, none of them beyond ``most_qps``."""
    load_qps, best = FROM_QPS, 0.0
    gives_up_at_qps = None
    while gives_up_at_qps is None and load_qps < most_qps / STEP_BEYOND:
        accuracy = expected_accuracy(service.simulate(shared_out(load_qps, service)))
        best = max(best, accuracy)
        if accuracy <= best - GIVEN_UP_POINTS / 100:
            gives_up_at_qps = load_qps
        load_qps *= GROWTH
    step_qps = most_qps if gives_up_at_qps is None else STEP_BEYOND * gives_up_at_qps
    base_qps = step_qps / STEP_FACTOR
    base_qps /= max(1.0, BEYOND_ROOM * _room_qps(service, base_qps) / step_qps)
    return Loads(base_qps, step_qps, gives_up_at_qps, 100 * best)


def switch_load_qps(service: Service, most_qps: float) -> float:
    """A load of all endpoints together under which other objectives have workers hold other variants."""
    load_qps = FROM_QPS
    light = _held(service, load_qps)
    while load_qps < most_qps and _held(service, load_qps) == light:
        load_qps *= GROWTH
    return SWITCH_PART * min(load_qps, most_qps)


def _held(service: Service, load_qps: float) -> list[list[str]]:
    return sorted(service.simulate(shared_out(load_qps, service))["held"].values())


def _room_qps(service: Service, load_qps: float) -> float:
    """What the plan for such a load bears of all endpoints together, as long as they have the same part of it."""
    capacity_qps = service.simulate(shared_out(load_qps, service))["capacity_qps"]
    return len(service.slo_ms) * min(float(capacity_qps[name]) for name in service.slo_ms)


def expected_accuracy(plan: dict[str, Any]) -> float:
    """Of what a plan serves, over all endpoints, 0 to 1; 0 where it serves nothing."""
    served_qps = {name: qps for name, qps in plan["served_qps"].items() if name in plan["accuracy"]}
    total_qps = sum(served_qps.values())
    return sum(qps * plan["accuracy"][name] for name, qps in served_qps.items()) / total_qps if total_qps else 0.0
