"""The loads are found by asking a planner."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from benchmarks.adaptation.calibration import (
    BEYOND_ROOM,
    GROWTH,
    STEP_BEYOND,
    STEP_FACTOR,
    SWITCH_PART,
    calibrate,
    expected_accuracy,
    switch_load_qps,
)
from benchmarks.adaptation.service import Service


@dataclass(frozen=True)
class PlayedService(Service):
    """Plans lose half a point from ``gives_up_at_qps`` on, and have room for so many times the load."""

    gives_up_at_qps: float = 0.0
    room: float = 1.0

    def simulate(self, load_qps: Mapping[str, float]) -> dict[str, Any]:
        beyond = sum(load_qps.values()) >= self.gives_up_at_qps
        return {
            "served_qps": dict(load_qps),
            "accuracy": dict.fromkeys(load_qps, 0.97 if beyond else 0.975),
            "held": {"w1": ["large"], "w2": ["small" if beyond else "large"]},
            "capacity_qps": {name: self.room * qps for name, qps in load_qps.items()},
        }


def service(gives_up_at_qps: float, room: float) -> Service:
    return PlayedService("http://127.0.0.1:1", {}, {"a": 100.0, "b": 50.0}, gives_up_at_qps, room)


def test_the_step_goes_beyond_the_load_at_which_accuracy_is_given_up() -> None:
    loads = calibrate(service(200.0, 1.5), 700.0)
    assert loads.gives_up_at_qps is not None
    assert 200.0 <= loads.gives_up_at_qps < 200.0 * GROWTH
    assert loads.step_qps == pytest.approx(STEP_BEYOND * loads.gives_up_at_qps)
    assert loads.base_qps == pytest.approx(loads.step_qps / STEP_FACTOR)
    assert loads.best_accuracy_pct == pytest.approx(97.5)


def test_where_accuracy_is_never_given_up_the_step_is_the_most() -> None:
    loads = calibrate(service(5000.0, 1.5), 300.0)
    assert (loads.step_qps, loads.gives_up_at_qps) == (300.0, None)


def test_the_step_is_never_more_than_the_most() -> None:
    assert max(calibrate(service(limit, 1.0), 300.0).step_qps for limit in (100.0, 230.0, 239.0, 241.0)) <= 300.0


def test_the_base_is_so_low_that_its_plan_has_no_room_for_the_step() -> None:
    loads = calibrate(service(200.0, 4.0), 700.0)
    assert loads.step_qps == pytest.approx(BEYOND_ROOM * 4.0 * loads.base_qps)


def test_accuracy_is_weighted_by_what_is_served() -> None:
    plan = {"served_qps": {"a": 300.0, "b": 100.0, "c": 50.0}, "accuracy": {"a": 0.9, "b": 0.5}}
    assert expected_accuracy(plan) == pytest.approx(0.8)
    assert expected_accuracy({"served_qps": {"a": 0.0}, "accuracy": {}}) == 0.0


def test_objectives_change_under_a_load_below_that_at_which_workers_hold_something_else() -> None:
    assert 200.0 <= switch_load_qps(service(200.0, 1.0), 700.0) / SWITCH_PART < 200.0 * GROWTH
    assert switch_load_qps(service(5000.0, 1.0), 300.0) == pytest.approx(SWITCH_PART * 300.0)
