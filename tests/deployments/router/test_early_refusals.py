"""Queries that the proxy refused, as load and as violations."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from catalog.errors import RateLimited, Saturated
from deployments.router.router import Router
from dispatch.admission.rules import AdmissionRules
from router_scene import now_s, routing, routing_table, service, virtually


def at_the_door(router: Router) -> None:
    for _ in range(200):
        router.refusals.at_the_door("digits", Saturated("no room"))


def undecoded(router: Router) -> None:
    for _ in range(200):
        router.refusals.turn_away("digits", now_s() - 1.0, 0.5)


@virtually
async def test_each_router_counts_its_part_and_loses_none_in_the_long_run() -> None:
    async with routing() as scene:
        scene.router.follow(replace(routing_table(1, {}), routers=frozenset({"r1", "r2", "r3"})))
        for _ in range(10):
            scene.router.refused_by_proxy("digits", 10)
        report = scene.router.observer.meter.report(1, scene.router.router_state())
        assert (report.arrived, report.violated) == ({"digits": 33}, {"digits": 33})


@virtually
async def test_policies_and_planners_reckon_with_the_load_that_was_offered() -> None:
    async with routing() as scene:
        await scene.join("w1")
        before_qps = scene.router.anticipated_qps("digits")
        scene.router.refused_by_proxy("digits", 500)
        stage = scene.router.plan.endpoints["digits"].stage
        assert stage.load.load_qps(now_s()) > before_qps + 100


@pytest.mark.parametrize("refuse", [at_the_door, undecoded, lambda router: router.refused_by_proxy("digits", 200)])
@virtually
async def test_each_counts_for_as_many_rows_of_that_load_as_decoded_queries_have(
    refuse: Callable[[Router], None],
) -> None:
    added_qps = []
    for rows in (1, 3):
        async with routing() as scene:
            await scene.members("w1")
            await scene.follow("w1", endpoint=service(admission=AdmissionRules()))
            await scene.router.infer("digits", {"x": np.zeros(rows)}, rows, 5.0)
            load = scene.router.plan.endpoints["digits"].stage.load
            before_qps = load.load_qps(now_s())
            refuse(scene.router)
            added_qps.append(load.load_qps(now_s()) - before_qps)
    assert added_qps[1] == pytest.approx(3 * added_qps[0])


@virtually
async def test_an_endpoint_that_is_not_served_has_no_load() -> None:
    async with routing() as scene:
        scene.router.refused_by_proxy("other", 500)
        assert scene.router.observer.meter.report(1, scene.router.router_state()).arrived == {}


@virtually
async def test_what_is_refused_at_the_door_for_want_of_room_is_load_and_what_a_client_sends_too_much_is_none() -> None:
    async with routing() as scene:
        await scene.join("w1")
        scene.router.refusals.at_the_door("digits", Saturated("no room"))
        scene.router.refusals.at_the_door("digits", RateLimited("slower"))
        scene.router.refusals.at_the_door("other", Saturated("no room"))
        report = scene.router.observer.meter.report(1, scene.router.router_state())
        assert (report.arrived, report.violated, report.refused) == ({"digits": 1}, {"digits": 1}, {"digits": 1})
        seen = scene.router.status()["endpoints"]["digits"]
        assert (seen["arrived"], seen["rejected"]) == (2, 2)
        assert seen["rejected_by_code"] == {"rejected-saturated": 1, "rejected-rate-limited": 1}
