"""Which other router gets a query, and what comes back of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ray.exceptions import RayTaskError
from ray.serve.handle import DeploymentHandle

from catalog.errors import BadRequest, NoWorker, Saturated
from deployments.messages.control import RoutingTable, WorkerRouting
from deployments.router.peers import Peers
from dispatch.ensemble.ground_truth import Told
from dispatch.flow.pipeline import PipelineFlow
from dispatch.pipeline.graph import Graph, Node
from dispatch.plan import EndpointLimits, EndpointPlan, StagePlan
from dispatch.query import NORMAL_PRIORITY
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from dispatch.worker_info import WorkerInfo
from router_scene import BOTH, DOUBLE, ME, digits, routing_table


@dataclass
class PlayedHandle:
    """A handle whose calls end in ``outcome``; keeps whom they were for."""

    outcome: object = "answer"
    peer: str = ""
    called: tuple[object, ...] = ()
    age_s: float = 0.0

    def options(self, *, multiplexed_model_id: str) -> "PlayedHandle":
        self.peer = multiplexed_model_id
        return self

    @property
    def infer_for_peer(self) -> Any:
        return self

    async def remote(self, *args: object, age_s: float = 0.0) -> object:
        self.called, self.age_s = args, age_s
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@dataclass
class PlayedHandles:
    """A handle whose calls, but those of queries, end in what ``outcomes`` have for the peer; keeps who was asked."""

    outcomes: Mapping[str, object]
    asked: list[str] = field(default_factory=list)

    def options(self, *, multiplexed_model_id: str) -> SimpleNamespace:
        self.asked.append(multiplexed_model_id)
        played = PlayedHandle(self.outcomes[multiplexed_model_id])
        return SimpleNamespace(status=played, feedback_for_peer=played)


def peers(handle: PlayedHandle | None = None) -> Peers:
    return Peers(ME, cast(DeploymentHandle, handle or PlayedHandle()))


def owned(**routers: str | None) -> RoutingTable:
    return routing_table(1, dict.fromkeys(routers, BOTH), routers)


ENDPOINT = digits()
"""It may be answered by both variants, on every pool of the device type ``cpu``."""


def test_peers_with_workers_for_the_endpoint_get_queries_in_turn_and_oneself_none() -> None:
    news = owned(w1="r3", w2="r2", w3=ME, w4=None, w5="r2")
    asking = peers()
    assert [asking.for_endpoint(ENDPOINT, news) for _ in range(4)] == ["r2", "r3", "r2", "r3"]


def test_a_peer_that_was_asked_in_vain_is_left_out() -> None:
    news = owned(w1="r3", w2="r2", w3=ME)
    assert peers().for_endpoint(ENDPOINT, news, {"r2"}) == "r3"
    assert peers().for_endpoint(ENDPOINT, news, {"r2", "r3"}) is None


def test_nobody_gets_a_query_where_no_other_router_has_a_worker_for_it() -> None:
    assert peers().for_endpoint(ENDPOINT, owned(w1=ME, w2=None)) is None
    assert (
        peers().for_endpoint(ENDPOINT, routing_table(1, {"w1": (), "w2": ("other",)}, {"w1": "r2", "w2": "r2"})) is None
    )
    assert peers().for_endpoint(ENDPOINT, None) is None


def test_a_peer_whose_workers_are_of_pools_that_do_not_serve_the_endpoint_gets_no_query() -> None:
    news = owned(w1="r2", w2="r3")
    news = replace(
        news, workers={**news.workers, "w2": WorkerRouting(WorkerInfo("cpu", "large"), frozenset(BOTH), "r3")}
    )
    served = ENDPOINT.with_stage(pools=frozenset({"large"}))
    assert [peers().for_endpoint(served, news) for _ in range(2)] == ["r3", "r3"]


def test_a_peer_whose_workers_hold_a_variant_for_another_endpoint_only_gets_no_query() -> None:
    news = routing_table(1, {"w1": ("triple",), "w2": ("double",)}, {"w1": "r2", "w2": "r3"})
    strict = ENDPOINT.with_stage(candidates={"pool": (DOUBLE,)})
    assert [peers().for_endpoint(strict, news) for _ in range(2)] == ["r3", "r3"]


async def test_the_other_routers_say_how_they_are_and_those_that_do_not_answer_are_left_out() -> None:
    handle = PlayedHandles({"r2": {"routers": ["r2"]}, "r3": ConnectionError("gone"), "r4": {"routers": ["r4"]}})
    asking = Peers(ME, cast(DeploymentHandle, handle))
    news = owned(w1="r2", w2="r3", w3="r4", w4=ME)
    assert await asking.statuses(news) == [{"routers": ["r2"]}, {"routers": ["r4"]}]
    assert handle.asked == ["r2", "r3", "r4"]
    assert await asking.statuses(None) == []


async def test_the_other_routers_are_asked_of_labels_and_one_that_refuses_them_is_heard() -> None:
    said = {"r2": [Told.MATCHED], "r3": ConnectionError("gone"), "r4": [Told.UNKNOWN]}
    handle = PlayedHandles(said)
    asking = Peers(ME, cast(DeploymentHandle, handle))
    news = owned(w1="r2", w2="r3", w3="r4", w4=ME)
    assert await asking.feedback("digits", [("x", (1,))], news) == [[Told.MATCHED], [Told.UNKNOWN]]
    assert await asking.feedback("digits", [("x", (1,))], None) == []
    refusal = BadRequest("feedback for id 'x': 1 labels for 2 rows")
    for raised in (refusal, RayTaskError("feedback_for_peer", "a traceback", refusal)):
        refusing = Peers(ME, cast(DeploymentHandle, PlayedHandles({**said, "r4": raised})))
        with pytest.raises(BadRequest, match="1 labels for 2 rows"):
            await refusing.feedback("digits", [("x", (1,))], news)


async def test_a_status_that_came_from_oneself_or_twice_counts_once() -> None:
    """Serve sends a call for a replica that is gone to any other."""
    handle = PlayedHandles({"r2": {"routers": ["r2"]}, "r3": {"routers": ["r2"]}, "r4": {"routers": [ME]}})
    news = owned(w1="r2", w2="r3", w3="r4")
    assert await Peers(ME, cast(DeploymentHandle, handle)).statuses(news) == [{"routers": ["r2"]}]


async def test_the_answer_of_the_peer_that_was_named_comes_back() -> None:
    handle = PlayedHandle()
    assert cast(object, await peers(handle).infer("r2", "digits", {}, 3, 0.2, None)) == "answer"
    assert (handle.peer, handle.called) == ("r2", ("digits", {}, 3, 0.2, None))


async def test_a_peer_is_told_of_a_priority_that_is_not_the_usual_one() -> None:
    """A router of the version before priorities takes five arguments; while both serve, it gets no more if possible."""
    handle = PlayedHandle()
    await peers(handle).infer("r2", "digits", {}, 3, 0.2, None, NORMAL_PRIORITY)
    assert handle.called == ("digits", {}, 3, 0.2, None)
    await peers(handle).infer("r2", "digits", {}, 3, 0.2, None, 1)
    assert handle.called == ("digits", {}, 3, 0.2, None, 1)


async def test_a_peer_is_told_how_old_a_query_is() -> None:
    handle = PlayedHandle()
    await peers(handle).infer("r2", "digits", {}, 3, 0.2, None, 1, 0.05)
    assert (handle.called, handle.age_s) == (("digits", {}, 3, 0.2, None, 1), 0.05)


class OlderHandle(PlayedHandle):
    """Of a router of the version before ages."""

    async def remote(self, *args: object, **later: object) -> object:
        def infer_for_peer(*known: object) -> object:
            return known

        try:
            return infer_for_peer(*args, **later)
        except TypeError as error:
            raise RayTaskError("infer_for_peer", "a traceback", error) from error


async def test_a_peer_that_knows_no_ages_gets_the_time_that_is_left() -> None:
    assert await peers(OlderHandle()).infer("r2", "digits", {}, 3, 0.25, None, 1, 0.125) == (
        *("digits", {}, 3, 0.125, None),
        1,
    )
    late = await peers(OlderHandle()).infer("r2", "digits", {}, 3, 0.25, None, NORMAL_PRIORITY, 0.5)
    assert late == ("digits", {}, 3, 0.0, None)


@pytest.mark.parametrize("wrapped", [False, True])
async def test_an_error_of_ours_comes_back_as_it_was_raised(wrapped: bool) -> None:
    error = Saturated("digits has too much to do")
    raised = RayTaskError("infer_for_peer", "a traceback", error) if wrapped else error
    with pytest.raises(Saturated, match="too much to do"):
        await peers(PlayedHandle(raised)).infer("r2", "digits", {}, 1, 0.2, None)


@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_peer_that_does_not_answer_is_no_worker_and_is_named(wrapped: bool) -> None:
    error = ConnectionError("gone")
    raised = RayTaskError("infer_for_peer", "a traceback", error) if wrapped else error
    with pytest.raises(NoWorker, match=r"endpoint 'digits', and router r2 .*\(ConnectionError\)"):
        await peers(PlayedHandle(raised)).infer("r2", "digits", {}, 1, 0.2, None)


def test_a_peer_that_lacks_a_stage_of_a_pipeline_or_leaves_gets_none_of_its_queries() -> None:
    nodes = tuple(Node(name, sources, lambda _: []) for name, sources in (("cut", ()), ("read", ("cut",))))
    flow = PipelineFlow(Graph(nodes, lambda _, values: {}))
    stages = {
        name: StagePlan({"cpu": (Candidate(name, 0.9, (0.0, 0.01)),)}, GreedySelection(), None)
        for name in ("cut", "read")
    }
    page = EndpointPlan("page", EndpointLimits(0.1, False, 10), stages, flow)

    def able(*held: tuple[str, str], staying: tuple[str, ...] = ("r2", "r3")) -> list[str]:
        workers = {
            f"w{number}": WorkerRouting(WorkerInfo("cpu", "pool"), frozenset({variant}), router)
            for number, (variant, router) in enumerate(held)
        }
        return peers().able(page, RoutingTable(1, 1, {}, workers, {}, {}, frozenset(staying)))

    assert able(("cut", "r2"), ("read", "r3")) == []
    assert able(("cut", "r2"), ("read", "r3"), ("read", "r2")) == ["r2"]
    assert able(("cut", "r2"), ("read", "r2"), staying=("r3",)) == []
