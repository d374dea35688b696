"""A router with a pipeline, in virtual time: values are doubled by one stage, and tripled by the next."""

from collections.abc import Sequence

import numpy as np
import pytest

from catalog.errors import AdapterFailed
from dispatch.flow.pipeline import PipelineFlow
from dispatch.pipeline.graph import QUERY, Graph, Node, Part, Values
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from router_scene import DOUBLE, TRIPLE, routing, virtually

BOUND = 100.0
"""Values from here on are more than the function between the stages takes."""


def _between(values: Values) -> Sequence[Part]:
    doubled = values["double"]["y"]
    if (doubled >= BOUND).any():
        raise AdapterFailed("too much to triple")
    return [Part({"x": doubled}, 1)]


def plan() -> Plan:
    nodes = (
        Node("double", (), lambda values: [Part({"x": values[QUERY]["x"]}, 1)]),
        Node("triple", ("double",), _between, frozenset({"double"})),
    )
    stages = {
        name: StagePlan({"cpu": (candidate,)}, GreedySelection(), None)
        for name, candidate in (("double", DOUBLE), ("triple", TRIPLE))
    }
    flow = PipelineFlow(Graph(nodes, lambda _, values: values["triple"]))
    return Plan(1, {"digits": EndpointPlan("digits", EndpointLimits(0.1, False, 100), stages, flow)})


@virtually
async def test_a_query_goes_through_both_stages_and_the_status_tells_of_each() -> None:
    async with routing(plan()) as scene:
        await scene.members("w1", "w2")
        await scene.follow(w1=("double",), w2=("triple",))
        assert [await scene.ask(value) for value in (1.0, 2.0)] == [6.0, 12.0]
        stages = scene.router.status()["endpoints"]["digits"]["stages"]
        assert {name: (seen["queries"], seen["jobs"], seen["workers"]) for name, seen in stages.items()} == {
            "double": (2, 2, 1),
            "triple": (2, 2, 1),
        }


@virtually
async def test_a_pipeline_is_ready_where_each_stage_has_a_worker() -> None:
    async with routing(plan()) as scene:
        await scene.members("w1", "w2")
        await scene.follow(w1=("double",))
        assert not scene.router.ready("digits")
        await scene.follow(w1=("double",), w2=("triple",))
        assert scene.router.ready("digits")
        await scene.members("w1")
        assert not scene.router.ready("digits")


@virtually
async def test_a_function_that_refuses_one_query_leaves_the_others_alone() -> None:
    async with routing(plan()) as scene:
        await scene.join("w1")
        with pytest.raises(AdapterFailed, match="too much to triple"):
            await scene.ask(BOUND)
        assert await scene.ask(1.0) == 6.0
        status = scene.router.status()["endpoints"]["digits"]
        assert (status["answered"], status["rejected_by_reason"], status["queued"]) == (1, {"AdapterFailed": 1}, 0)


@virtually
async def test_an_answer_names_every_stage_with_its_times() -> None:
    async with routing(plan()) as scene:
        await scene.join("w1")
        answer = await scene.router.infer("digits", {"x": np.array([1.0])}, 1, 5.0)
        assert answer.variants == ("double", "triple")
        first, second = answer.stages
        assert first.began_s <= first.launched_s < first.done_s <= second.began_s < second.done_s == answer.done_s
