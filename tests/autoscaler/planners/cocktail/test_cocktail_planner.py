"""Workers for members: how many, of which kind, and what becomes of those that are there."""

from collections import Counter
from collections.abc import Mapping
from math import inf

import pytest

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.cocktail.cocktail_planner import CocktailOptions, CocktailPlanner
from autoscaler.planners.ipa.problem import IpaOptions
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.registry import PlannerOptions, planner_kind
from dispatch.selection.policy import Candidate
from dispatch.worker_info import workers_of

EXACT = CocktailOptions(headroom=1.0)

MEMBERS = {"quick": 10, "middle": 5, "slow": 1}
"""Rows at once in 0.1 s: 100, 50 and 10 queries per second on a small machine."""


def candidates(size: int) -> tuple[Candidate, ...]:
    return tuple(Candidate(name, 0.7, (0.0, *[0.1] * (rows * size))) for name, rows in MEMBERS.items())


def cluster(most: int | None = 50, **memory_bytes: int) -> Cluster:
    endpoint = Endpoint("images", 0.5, {"small": candidates(1), "large": candidates(4)})
    pools = (
        Pool("small", memory_bytes=2.0 if memory_bytes else inf, price_per_h=1.0, max_workers=most),
        Pool("large", memory_bytes=2.0 if memory_bytes else inf, price_per_h=2.5, max_workers=most),
    )
    return Cluster((endpoint,), pools, memory_bytes)


def seen(
    qps: float,
    shares: Mapping[str, float] | None = None,
    held: Mapping[str, str] | None = None,
    prices: Mapping[str, float] | None = None,
) -> Observation:
    """Workers are named after their device type: ``small-1``."""
    holding = {worker: frozenset(filter(None, [member])) for worker, member in (held or {}).items()}
    there = {worker: worker.partition("-")[0] for worker in holding}
    stage_shares = {} if shares is None else {"images": shares}
    return Observation(0.0, {"images": qps}, workers_of(there), holding, stage_shares, prices or {})


def made(observation: Observation, of: Cluster | None = None, options: CocktailOptions = EXACT) -> ClusterPlan:
    return CocktailPlanner(of or cluster(), options).plan(observation)


def holders(plan: ClusterPlan) -> Counter[str]:
    return Counter(
        f"{member} on {w.partition('+')[0].partition('-')[0]}" for w, own in plan.held.items() for member in own
    )


def test_members_get_workers_by_how_often_they_are_asked() -> None:
    plan = made(seen(100.0, {"quick": 1.0, "middle": 0.4, "slow": 0.05}))
    assert holders(plan) == {"quick on small": 1, "middle on small": 1, "slow on small": 1}
    twice = made(seen(200.0, {"quick": 1.0, "middle": 0.4, "slow": 0.05}))
    assert holders(twice) == {"quick on small": 2, "middle on small": 2, "slow on small": 1}


def test_a_member_that_is_never_asked_gets_none() -> None:
    plan = made(seen(100.0, {"quick": 1.0, "middle": 0.0}))
    assert holders(plan) == {"quick on small": 1}
    assert plan.served_qps == {"images": 100.0}


def test_without_measured_shares_every_query_runs_every_member() -> None:
    assert holders(made(seen(40.0))) == {"quick on small": 1, "middle on small": 1, "slow on large": 1}


def test_headroom_multiplies_what_members_are_asked() -> None:
    plan = made(seen(100.0, {"quick": 1.0}), options=CocktailOptions(headroom=1.5))
    assert holders(plan) == {"quick on small": 2}
    assert plan.capacity_qps == {"images": pytest.approx(200.0)}


def test_workers_are_bought_where_the_load_is_cheapest_to_bear() -> None:
    plan = made(seen(400.0, {"quick": 1.0}))
    assert plan.held == {"large+1": frozenset(["quick"])}
    assert plan.pool_sizes == {"small": 0, "large": 1}


def test_prices_of_the_moment_decide() -> None:
    plan = made(seen(400.0, {"quick": 1.0}, prices={"large": 5.0}))
    assert plan.pool_sizes == {"small": 4, "large": 0}
    plan = made(seen(400.0, {"quick": 1.0}, prices={"large": inf}))
    assert plan.pool_sizes == {"small": 4, "large": 0}


def test_who_holds_a_member_keeps_it() -> None:
    held = {"small-1": "quick", "small-2": "middle"}
    plan = made(seen(50.0, {"quick": 1.0, "middle": 1.0}, held))
    assert plan.held == {worker: frozenset([member]) for worker, member in held.items()}
    assert plan.pool_sizes == {"small": 2, "large": 0}
    assert plan.spare == frozenset()


def test_workers_that_are_not_needed_are_spare_and_go_on_serving() -> None:
    held = {"small-1": "quick", "small-2": "quick", "small-3": "quick"}
    plan = made(seen(90.0, {"quick": 1.0}, held))
    assert plan.pool_sizes == {"small": 1, "large": 0}
    assert plan.spare == {"small-2", "small-3"}
    assert plan.held == {worker: frozenset(["quick"]) for worker in held}


def test_a_spare_worker_is_given_to_who_lacks_one_before_another_is_bought() -> None:
    held = {"small-1": "quick", "small-2": "quick"}
    plan = made(seen(50.0, {"quick": 1.0, "middle": 1.0}, held))
    assert holders(plan) == {"quick on small": 1, "middle on small": 1}
    assert plan.pool_sizes == {"small": 2, "large": 0}


def test_workers_are_not_replaced_for_small_savings() -> None:
    held = {f"small-{number}": "quick" for number in range(3)}
    cheaper = {"large": 2.5}  # instead of 3 for the three that are there
    assert made(seen(300.0, {"quick": 1.0}, held, cheaper)).pool_sizes == {"small": 3, "large": 0}
    much_cheaper = {"large": 2.0}
    plan = made(seen(300.0, {"quick": 1.0}, held, much_cheaper))
    assert plan.pool_sizes == {"small": 0, "large": 1}
    assert plan.spare == set(held)


def test_after_an_interruption_the_pool_is_refilled() -> None:
    shares = {"quick": 1.0, "middle": 1.0}
    whole = made(seen(50.0, shares))
    left = {"small-1": "quick"}
    plan = made(seen(50.0, shares, left))
    assert plan.pool_sizes == whole.pool_sizes
    assert plan.held == {"small-1": frozenset(["quick"]), "small+1": frozenset(["middle"])}


def test_fixed_pools_are_shared_out_to_whoever_has_the_least_room() -> None:
    held = {"small-1": "", "small-2": "", "small-3": "quick"}
    plan = made(seen(60.0, {"quick": 1.0, "middle": 1.0}, held), cluster(most=None))
    assert holders(plan) == {"quick on small": 1, "middle on small": 2}
    assert plan.pool_sizes == {"small": 3, "large": 0}
    assert plan.spare == frozenset()


def test_with_few_workers_members_are_held_together() -> None:
    plan = made(seen(5.0, None, {"small-1": "", "small-2": ""}), cluster(most=None))
    assert {member for own in plan.held.values() for member in own} == set(MEMBERS)
    again = {worker: frozenset(own) for worker, own in plan.held.items()}
    observation = Observation(0.0, {"images": 5.0}, workers_of({"small-1": "small", "small-2": "small"}), again)
    assert made(observation, cluster(most=None)).held == plan.held


def test_members_are_held_together_only_where_memory_is_enough() -> None:
    plan = made(seen(5.0, None, {"small-1": ""}), cluster(most=None, quick=1, middle=1, slow=2))
    (own,) = plan.held.values()
    assert sum({"quick": 1, "middle": 1, "slow": 2}[member] for member in own) <= 2
    assert plan.served_qps["images"] > 0


def test_no_more_workers_are_bought_than_there_may_be() -> None:
    plan = made(seen(1000.0, {"quick": 1.0}), cluster(most=1))
    assert plan.pool_sizes == {"small": 1, "large": 1}
    assert plan.served_qps == {"images": 500.0}
    assert "bear 500.0" in plan.report.explanation[0]


def test_the_endpoints_own_balancers_decide_who_gets_queries() -> None:
    plan = made(seen(50.0))
    assert plan.own_balancing == {"images"}
    assert not plan.shares


def test_the_planner_is_known_by_its_name() -> None:
    kind = planner_kind("cocktail")
    assert kind.make(cluster(), PlannerOptions(1.0, IpaOptions(), ProteusOptions())).name == "cocktail"
    assert (kind.assigns, kind.by_load, kind.sizes, kind.solves, kind.needs) == (True, True, True, False, None)


ALIKE = tuple(Candidate(name, 0.9, (0.0, 0.03)) for name in "abc")
"""33 queries per second on a worker each."""


@pytest.mark.parametrize("most", [None, 6])
@pytest.mark.parametrize("memory_bytes", [inf, 1.0])
def test_where_workers_are_short_each_member_has_as_much_of_what_it_needs(
    most: int | None, memory_bytes: float
) -> None:
    pool = Pool("small", memory_bytes=memory_bytes, price_per_h=1.0, max_workers=most)
    of = Cluster((Endpoint("images", 0.2, {"small": ALIKE}),), (pool,), dict.fromkeys("abc", 1.0))
    held = dict.fromkeys((f"small-{n}" for n in range(6)), "") if most is None else {}
    plan = made(seen(100.0, held=held), of)
    assert holders(plan) == {"a on small": 2, "b on small": 2, "c on small": 2}
    assert plan.served_qps["images"] == pytest.approx(200 / 3, rel=0.01)


def quick(qps: float) -> Candidate:
    return Candidate("quick", 0.7, (0.0, 1.0 / qps))


@pytest.mark.parametrize("names", [("cpu", "gpu"), ("gpu", "cpu")])
def test_without_prices_a_member_takes_the_fewest_workers_and_leaves_the_others_to_whom_they_alone_serve(
    names: tuple[str, str],
) -> None:
    variants = {"cpu": (quick(5.0), Candidate("plain", 0.7, (0.0, 1.0 / 13.0))), "gpu": (quick(200.0),)}
    endpoint = Endpoint("images", 1.0, {name: variants[name] for name in names})
    there = {"gpu-0": "gpu", **{f"cpu-{number}": "cpu" for number in range(4)}}
    plan = made(
        Observation(0.0, {"images": 20.0}, workers_of(there), {}), Cluster((endpoint,), tuple(map(Pool, names)))
    )
    assert plan.served_qps == {"images": 20.0}
    assert plan.held["gpu-0"] == {"quick"}
    assert {worker for worker, held in plan.held.items() if "plain" in held} == {f"cpu-{n}" for n in range(4)}


def test_pools_of_free_size_without_prices_are_no_larger_than_they_need_be_and_keep_what_they_hold() -> None:
    endpoint = Endpoint("images", 1.0, {"cpu": (quick(5.0),), "gpu": (quick(200.0),)})
    pools = (Pool("cpu", max_workers=50), Pool("gpu", max_workers=5))
    assert made(seen(150.0), Cluster((endpoint,), pools)).pool_sizes == {"cpu": 0, "gpu": 1}
    members = tuple(Candidate(name, 0.7, (0.0, 0.1)) for name in MEMBERS)
    alike = Cluster((Endpoint("images", 1.0, {"cpu": members}),), (Pool("cpu", max_workers=20),))
    held = {f"cpu-{number}": name for number, name in enumerate((*MEMBERS, *MEMBERS))}
    plan = made(seen(14.0, held=held), alike)
    assert plan.held == {worker: {name} for worker, name in held.items()}, "two for each, and none loads another"
