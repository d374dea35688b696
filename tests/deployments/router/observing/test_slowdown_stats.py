"""Measured beside predicted slowdowns of a router's workers."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from deployments.messages.control import RoutingTable
from deployments.router.observing.slowdown_stats import SlowdownStats
from dispatch.worker_info import WorkerInfo
from router_scene import routing_table

SERVES = dict.fromkeys(("w1", "w2", "w3", "w4"), ("double",))


def told(
    version: int, serves: Mapping[str, tuple[str, ...]] = SERVES, **predicted: Mapping[str, float]
) -> RoutingTable:
    """w1 and w2 are on one node, w3 and w4 on another."""
    made = routing_table(version, serves)
    workers = {
        worker: replace(
            routing,
            info=WorkerInfo("cpu", "pool", "n1" if worker in ("w1", "w2") else "n2"),
            slowdowns=predicted.get(worker, {}),
        )
        for worker, routing in made.workers.items()
    }
    return replace(made, workers=workers)


def test_what_is_measured_stands_beside_what_is_predicted() -> None:
    stats = SlowdownStats()
    stats.follow(told(1, w1={"double": 1.5, "triple": 1.2}))
    for number in range(100):
        stats.on_batch("w1", "double", 1.8, 0.1 * number)
    seen = stats.of("w1")
    assert seen["double"].predicted == 1.5
    assert seen["double"].measured == pytest.approx(1.8, rel=0.05)
    assert seen["double"].batches > 50
    assert seen["triple"].to_record() == {"predicted": 1.2, "measured": None, "batches": 0.0}
    assert stats.of("w2") == {}, "it is alone"


def test_measuring_begins_anew_when_neighbours_change_and_not_when_the_prediction_is_corrected() -> None:
    stats = SlowdownStats()
    stats.follow(told(1, w1={"double": 1.5}, w3={"double": 1.5}))
    for worker in ("w1", "w3"):
        stats.on_batch(worker, "double", 1.8, 0.0)
    stats.follow(told(2, {**SERVES, "w4": ("triple",)}, w1={"double": 1.6}, w3={"double": 1.5}))
    corrected = stats.of("w1")["double"]
    assert corrected.predicted == 1.6
    assert corrected.measured == pytest.approx(1.8, rel=0.05)
    assert stats.of("w3")["double"].measured is None
    stats.follow(told(3))
    assert stats.of("w1") == {}
