"""Measured beside predicted slowdowns of a router's workers."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from deployments.messages.control import RoutingTable
from deployments.router.observing.slowdown_stats import SlowdownStats
from router_scene import routing_table


def told(version: int, **predicted: Mapping[str, float]) -> RoutingTable:
    made = routing_table(version, {"w1": ("double",), "w2": ("double",)})
    workers = {w: replace(routing, slowdowns=predicted.get(w, {})) for w, routing in made.workers.items()}
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


def test_measuring_begins_anew_when_something_else_is_predicted() -> None:
    stats = SlowdownStats()
    stats.follow(told(1, w1={"double": 1.5}, w2={"double": 1.5}))
    for worker in ("w1", "w2"):
        stats.on_batch(worker, "double", 1.8, 0.0)
    stats.follow(told(2, w1={"double": 1.5}, w2={"double": 1.1}))
    assert stats.of("w1")["double"].measured == pytest.approx(1.8, rel=0.05)
    assert stats.of("w2")["double"].measured is None
    stats.follow(told(3))
    assert stats.of("w1") == {}
