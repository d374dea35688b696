"""Predicted slowdowns on their way from the routing table to the decisions of a router."""

from dataclasses import replace

import pytest

from router_scene import ME, routing, routing_table, virtually


@virtually
async def test_a_router_reckons_with_predicted_slowdowns_before_the_first_batch_and_scales_what_it_measured() -> None:
    async with routing() as scene:
        await scene.join("w1", "w2")
        made = routing_table(10, {"w1": ("double",), "w2": ("double",)}, {"w2": "another"})
        slowed = {w: replace(each, slowdowns={"double": 2.0}) for w, each in made.workers.items()}
        scene.router.follow(replace(made, workers=slowed))
        assert made.workers["w1"].router == ME
        assert scene.router.plan.slowdowns == {"w1": {"double": 2.0}}, "w2 is another router's"
        seen = scene.router.status()["workers"]["w1"]
        assert seen["latency"]["run_factors"]["double"] == 2.0
        assert seen["slowdowns"] == {"double": {"predicted": 2.0, "measured": None, "batches": 0.0}}
        for _ in range(100):
            await scene.ask(1.0)
        measured = scene.router.status()["workers"]["w1"]
        assert measured["slowdowns"]["double"]["measured"] is not None
        assert measured["slowdowns"]["double"]["batches"] > 50
        scene.router.follow(replace(made, version=11, plan_version=11))
        alone = scene.router.status()["workers"]["w1"]
        assert alone["slowdowns"] == {}
        assert alone["latency"]["run_factor"] == pytest.approx(measured["latency"]["run_factor"] / 2)
