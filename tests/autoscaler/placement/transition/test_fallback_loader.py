"""Fallback variants come after the planned ones, one by one."""

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.cluster.plan_record import from_record, to_record
from autoscaler.placement.transition.fallback_loader import FallbackLoader
from autoscaler.placement.transition.rollout import Rollout
from autoscaler_scene import held

PLAN = ClusterPlan(
    held=held(w1="a", w2="b"),
    fallback={"w1": ("d", "c"), "w2": ("d",)},
    burst_qps={"e": 12.0},
    report=SolveReport(Status.OPTIMAL, 0.0, 0.0),
)


def test_each_worker_loads_the_next_that_it_does_not_hold() -> None:
    loader = FallbackLoader(PLAN)
    assert loader.next(held(w1="a", w2="b")) == {"w1": "d", "w2": "d"}
    assert loader.next(held(w1="a d", w2="b d")) == {"w1": "c"}
    assert loader.next(held(w1="a c d", w2="b d")) == {}


def test_who_is_gone_or_busy_loads_nothing() -> None:
    loader = FallbackLoader(PLAN)
    assert loader.next(held(w1="a", w2="b"), busy=["w1"]) == {"w2": "d"}
    assert loader.next(held(w2="b")) == {"w2": "d"}


def test_one_that_cannot_be_loaded_is_left_out_and_the_next_is_tried() -> None:
    loader = FallbackLoader(PLAN)
    loader.on_failed("w1", "d")
    assert loader.next(held(w1="a", w2="b")) == {"w1": "c", "w2": "d"}
    assert loader.next(held(w1="a c", w2="b d")) == {}


def test_workers_serve_what_is_planned_and_the_fallbacks_that_are_there() -> None:
    serves = FallbackLoader(PLAN).serves(held(w1="a d x", w2="b", w3="a"))
    assert serves == held(w1="a d", w2="b")
    assert FallbackLoader(PLAN).serves(held(w1="d", w2="b")) == held(w2="b"), "the planned variant is gone"


def test_a_rollout_keeps_fallbacks_that_are_there_and_is_ready_without_the_others() -> None:
    rollout = Rollout(PLAN, held(w1="a c x", w2="b"), {}, {})
    assert rollout.load_first == {}
    assert rollout.ready
    assert rollout.serves == held(w1="a c", w2="b")
    assert rollout.unload == {"w1": ("x",)}


def test_what_the_plan_has_no_use_for_makes_room_before_a_fallback_does() -> None:
    rollout = Rollout(PLAN, held(w1="c x", w2="b"), dict.fromkeys("abcdx", 1), {"w1": 2, "w2": 9})
    assert rollout.break_first == held(w1="x")
    rollout = Rollout(PLAN, held(w1="c", w2="b"), dict.fromkeys("abcdx", 1), {"w1": 1, "w2": 9})
    assert rollout.break_first == held(w1="c")


def test_a_record_has_the_fallbacks_and_one_of_before_has_none() -> None:
    record = to_record(PLAN)
    assert from_record(record) == PLAN
    del record["fallback"], record["burst_qps"]
    assert from_record(record).fallback == {}


def test_what_a_dead_worker_was_to_hold_is_served_on_by_whoever_has_it() -> None:
    serves = FallbackLoader(PLAN, frozenset("xy")).serves(held(w1="a x", w2="x", w3="y", w4="a"))
    assert serves == held(w1="a x", w2="x", w3="y")
