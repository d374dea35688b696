"""Endpoints that keep to the workers of some pools."""

from dispatch.dispatcher import Dispatcher
from dispatch.plan import Plan
from dispatch.query import StageKey
from dispatch.worker_info import WorkerInfo
from dispatch_scene import endpoint, launched, query


def dispatcher() -> Dispatcher:
    """One worker in each of two pools: ``fast`` for the endpoint ``strict``, any for ``loose``."""
    strict = endpoint("strict").with_stage(pools=frozenset({"fast"}))
    made = Dispatcher(Plan(1, {"strict": strict, "loose": endpoint("loose")}))
    for worker, pool in (("w1", "slow"), ("w2", "fast")):
        made.on_worker_ready(worker, WorkerInfo("cpu", pool), ["fast", "slow"], 0.0)
    return made


def test_queries_go_to_the_workers_of_the_endpoints_pools_alone() -> None:
    made = dispatcher()
    (batch,) = launched(made.on_arrival(query(1, name="strict"), 0.0))
    assert batch.worker == "w2"
    assert launched(made.on_arrival(query(2, name="strict"), 0.0)) == []
    (other,) = launched(made.on_arrival(query(3, name="loose"), 0.0))
    assert other.worker == "w1"


def test_a_plan_that_takes_a_pool_away_moves_what_waits_there() -> None:
    made = dispatcher()
    for number in range(1, 4):
        made.on_arrival(query(number, name="loose"), 0.0)
    narrowed = made.plan.endpoints["loose"].with_stage(pools=frozenset({"slow"}))
    made.apply(Plan(2, {**made.plan.endpoints, "loose": narrowed}), 0.0)
    assert set(made.workers["w2"].lanes) == {StageKey("strict")}
    assert set(made.workers["w1"].lanes) == {StageKey("loose")}
    assert made.queues.rows("loose") == 1
