"""Which parts of a change have nothing to do with each other."""

import numpy as np
from hypothesis import given, settings

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.placement.transition.parts import Part, parts_of
from autoscaler_scene import SEEDS, held

USES = {"one": ("a", "b"), "other": ("c",), "third": ("d",)}


def plan(**wanted: str) -> ClusterPlan:
    return ClusterPlan(held=held(**wanted), report=SolveReport(Status.OPTIMAL, 0.0, 0.0))


def part(endpoints: str, workers: str) -> Part:
    return Part(frozenset(endpoints.split()), frozenset(workers.split()))


def test_endpoints_that_share_no_worker_are_parts_of_their_own() -> None:
    found = parts_of(plan(w1="b", w2="c"), held(w1="a", w2="c", w3="d", w4=""), USES)
    assert found == (part("one", "w1"), part("other", "w2"), part("third", "w3"))


def test_a_worker_that_passes_from_one_endpoint_to_another_joins_both() -> None:
    found = parts_of(plan(w1="c", w2="a", w3="d"), held(w1="a", w2="a", w3="d", w4="c"), USES)
    assert found == (part("one other", "w1 w2 w4"), part("third", "w3"))


def test_fallback_variants_join_as_well_and_workers_to_come_do_not() -> None:
    made = ClusterPlan(
        held=held(w1="a", **{"cpu+1": "a c"}), fallback={"w1": ("d",)}, report=SolveReport(Status.OPTIMAL, 0.0, 0.0)
    )
    found = parts_of(made, held(w1="a", w2="d", w3="c"), USES)
    assert found == (part("other", "w3"), part("one third", "w1 w2"))


def test_an_endpoint_that_joins_two_makes_one_of_them() -> None:
    found = parts_of(plan(), held(w1="a", w2="c", w3="a c d"), USES)
    assert found == (part("one other third", "w1 w2 w3"),)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_no_two_parts_have_anything_in_common_and_nothing_is_left_out(rng: np.random.Generator) -> None:
    uses = {f"e{i}": tuple(rng.choice(list("abcdefgh"), size=rng.integers(1, 3))) for i in range(4)}

    def some() -> dict[str, frozenset[str]]:
        return {
            f"w{i}": frozenset(rng.choice(list("abcdefgh"), size=rng.integers(0, 3), replace=False)) for i in range(6)
        }

    before, after = some(), some()
    found = parts_of(ClusterPlan(held=after, report=SolveReport(Status.OPTIMAL, 0.0, 0.0)), before, uses)
    for name, variants in uses.items():
        workers = {worker for worker in before if (before[worker] | after[worker]) & set(variants)}
        owners = [each for each in found if name in each.endpoints or workers & each.workers]
        assert len(owners) == bool(workers)
        assert all(workers <= each.workers for each in owners)
