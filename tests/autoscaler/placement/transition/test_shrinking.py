"""Before a pool shrinks, all of its workers can do what any of them did."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.placement.transition.shrinking import ready_to_shrink
from autoscaler_scene import held

REPORT = SolveReport(Status.OPTIMAL, 0.0, 0.1)


def plan_of(holds: dict[str, frozenset[str]], shares: dict[str, dict[str, float]]) -> ClusterPlan:
    return ClusterPlan(
        held=holds,
        shares=shares,
        demand_qps={"a": 9.0},
        served_qps={"a": 9.0},
        capacity_qps={"a": 12.0},
        accuracy={"a": 0.9},
        pool_sizes={"cpu": 2},
        report=REPORT,
    )


def test_all_hold_everything_and_have_the_same_part_of_what_the_pool_had() -> None:
    plan = plan_of(
        held(w1="x", w2="y z", g1="x"),
        {"a": {"w1": 0.5, "w2": 0.1, "g1": 0.4}, "b": {"w2": 0.9}, "c": {"g1": 1.0}},
    )
    ready = ready_to_shrink(plan, ["w1", "w2", "w3"], {})
    assert ready.held == held(w1="x y z", w2="x y z", w3="x y z", g1="x")
    assert {name: {worker: round(share, 9) for worker, share in own.items()} for name, own in ready.shares.items()} == {
        "a": {"g1": 0.4, "w1": 0.2, "w2": 0.2, "w3": 0.2},
        "b": {"w1": 0.3, "w2": 0.3, "w3": 0.3},
        "c": {"g1": 1.0},
    }
    assert (ready.demand_qps, ready.capacity_qps, ready.accuracy) == (plan.demand_qps, plan.capacity_qps, plan.accuracy)


def test_what_does_not_fit_one_worker_leaves_the_plan_as_it_was() -> None:
    plan = plan_of(held(w1="x", w2="y"), {"a": {"w1": 0.5, "w2": 0.5}})
    sizes = {"x": 3, "y": 4}
    assert ready_to_shrink(plan, ["w1", "w2"], sizes, 6.9) == plan
    assert ready_to_shrink(plan, ["w1", "w2"], sizes, 7.0).held == held(w1="x y", w2="x y")


def test_a_pool_that_serves_nothing_stays_as_it_is() -> None:
    plan = plan_of(held(g1="x"), {"a": {"g1": 1.0}})
    assert ready_to_shrink(plan, ["w1", "w2"], {}) == plan


WORKERS = [f"w{n}" for n in range(5)]


@given(
    st.dictionaries(st.sampled_from([*WORKERS, "g1"]), st.frozensets(st.sampled_from("xyz"), min_size=1)),
    st.dictionaries(
        st.sampled_from("ab"), st.dictionaries(st.sampled_from([*WORKERS, "g1"]), st.floats(0.01, 0.16), max_size=6)
    ),
    st.integers(1, 5),
)
def test_whichever_workers_are_left_the_pool_can_answer_the_same(
    holds: dict[str, frozenset[str]], shares: dict[str, dict[str, float]], left: int
) -> None:
    ready = ready_to_shrink(plan_of(holds, shares), WORKERS, {}, inf)
    everything = {variant for worker in WORKERS for variant in holds.get(worker, ())}
    for worker in WORKERS[-left:]:
        assert ready.held.get(worker, frozenset()) == everything
    if everything:
        for name, own in shares.items():
            before = sum(share for worker, share in own.items() if worker in WORKERS)
            after = sum(share for worker, share in ready.shares[name].items() if worker in WORKERS)
            assert abs(before - after) < 1e-9
            assert ready.shares[name].get("g1") == own.get("g1")
