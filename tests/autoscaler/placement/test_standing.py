"""Where variants stand beside each other under a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.placement.standing import standings_of
from dispatch.worker_info import WorkerInfo
from predictor.configuration import Configuration

WORKERS = {
    "a": WorkerInfo("cpu", "pool", "n1", machine="m"),
    "b": WorkerInfo("cpu", "pool", "n1", machine="m"),
    "c": WorkerInfo("cpu", "pool", "n1", machine="m"),
    "far": WorkerInfo("cpu", "pool", "n2", machine="m"),
    "lost": WorkerInfo("cpu", "pool"),
}


class ByDegree:
    """A tenth for each neighbour."""

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        return [(1.0 + 0.1 * (each.degree - 1),) * each.degree for each in configurations]


def plan_of(shares: Mapping[str, float], slowdowns: Mapping[str, Mapping[str, float]], **held: str) -> ClusterPlan:
    return ClusterPlan(
        report=SolveReport(Status.HEURISTIC, None, 0.0),
        held={worker: frozenset(each.split()) for worker, each in held.items()},
        shares={"e": shares} if shares else {},
        slowdowns=slowdowns,
    )


def test_variants_stand_beside_what_the_other_workers_of_their_node_run() -> None:
    plan = plan_of(
        {"a": 0.5, "b": 0.3, "c": 0.1, "far": 0.1}, {"a": {"v": 1.5}}, a="v", b="w", c="v", far="v", lost="v"
    )
    found = standings_of(plan, WORKERS, ByDegree())
    assert found.keys() == {("a", "v"), ("b", "w"), ("c", "v")}
    assert found["a", "v"].beside == ("v", "w")
    assert found["b", "w"].beside == ("v", "v")
    assert (found["a", "v"].predicted, found["a", "v"].reckoned) == (1.2, 1.5)
    assert found["b", "w"].reckoned == 1.2, "of which the plan says nothing, it is as predicted"
    assert (found["a", "v"].device, found["a", "v"].node, found["a", "v"].machine) == ("pool", "n1", "m")


def test_neighbours_that_run_nothing_are_none() -> None:
    found = standings_of(plan_of({"a": 1.0}, {}, a="v", b="w", c="v"), WORKERS, ByDegree())
    assert found.keys() == {("b", "w"), ("c", "v")}, "nobody disturbs the only one that runs"
    assert found["b", "w"].beside == ("v",)


def test_without_shares_all_that_is_held_runs_and_nobody_knows_which_of_several() -> None:
    found = standings_of(plan_of({}, {}, a="v w", b="v"), WORKERS, ByDegree())
    assert found.keys() == {("a", "v"), ("a", "w"), ("b", "v")}
    assert found["a", "w"].beside == ("v",)
    assert found["b", "v"].beside is None
    assert found["b", "v"].neighbours == (frozenset({"v", "w"}),)


def test_fallback_variants_stand_beside_the_same_neighbours_and_disturb_nobody() -> None:
    plan = replace(plan_of({"a": 0.5, "b": 0.5}, {"a": {"v": 1.5}}, a="v", b="w"), fallback={"a": ("quick",)})
    found = standings_of(plan, WORKERS, ByDegree())
    assert found.keys() == {("a", "v"), ("a", "quick"), ("b", "w")}
    assert found["a", "quick"].beside == ("w",)
    assert found["a", "quick"].reckoned == 1.1
    assert found["b", "w"].beside == ("v",)
