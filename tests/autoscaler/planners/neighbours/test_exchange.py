"""Exchanges of roles against all there are."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.placement.nodes import NodeSlowdowns, shared_nodes
from autoscaler.planners.neighbours import exchange as module
from autoscaler.planners.neighbours.exchange import Exchange
from autoscaler.planners.neighbours.roles import IDLE, Role, Roles
from dispatch.worker_info import WorkerInfo
from interference_scene import PairLaw, PressureLaw, on_nodes
from predictor.configuration import Configuration

SEEDS = st.integers(0, 2**32 - 1).map(np.random.default_rng)
NAMES = ("a", "b", "c")


def total(exchange: Exchange, roles: Roles, law: PressureLaw, workers: dict[str, WorkerInfo]) -> float:
    """What is minimised, from the law itself: every worker runs one variant or nothing."""
    cost = 0.0
    for worker, role in roles.of.items():
        if role.busy:
            (own,) = role.holds
            others = [w for w in workers if w != worker and workers[w].node == workers[worker].node]
            beside = [variant for w in others if roles.of[w].busy for variant in roles.of[w].holds]
            slowdown = law.slowdowns([Configuration("m", (own, *beside))])[0][0]
            cost += max(role.busy, module.LEAST_BUSY) * (slowdown - 1.0)
            cost += exchange.load_cost(role.holds, roles.held.get(worker, frozenset()))
    return cost


def some_roles(rng: np.random.Generator, workers: dict[str, WorkerInfo]) -> Roles:
    def role() -> Role:
        if rng.random() < 0.2:
            return IDLE
        return Role(frozenset((str(rng.choice(NAMES)),)), (("e", float(rng.uniform())),), float(rng.uniform(0.1, 1.0)))

    held = {worker: frozenset((str(rng.choice(NAMES)),)) for worker in workers if rng.random() < 0.7}
    return Roles({worker: role() for worker in workers}, dict.fromkeys(workers, "cpu"), held)


@settings(max_examples=60, derandomize=True)
@given(SEEDS)
def test_what_is_found_costs_no_more_and_no_exchange_is_left_that_saves_enough(rng: np.random.Generator) -> None:
    workers = on_nodes(2, 2, 1)
    law = PressureLaw({n: float(rng.uniform(0, 1)) for n in NAMES}, {n: float(rng.uniform(0, 1)) for n in NAMES})
    exchange = Exchange(shared_nodes(workers), NodeSlowdowns(law), {"a": 10, "b": 5})
    roles = some_roles(rng, workers)
    found = exchange.improved(roles)
    assert sorted(map(str, found.of.values())) == sorted(map(str, roles.of.values())), "the same roles"
    reached = total(exchange, found, law, workers)
    assert reached <= total(exchange, roles, law, workers) + 1e-9
    for one, other in combinations(workers, 2):
        swapped = Roles({**found.of, one: found.of[other], other: found.of[one]}, found.devices, found.held)
        if workers[one].node != workers[other].node:
            assert total(exchange, swapped, law, workers) >= reached - module.LEAST_GAIN - 1e-9


@settings(max_examples=30, derandomize=True)
@given(SEEDS)
def test_on_two_nodes_of_two_it_is_nearly_the_best_of_all_placements(rng: np.random.Generator) -> None:
    workers = on_nodes(2, 2)
    law = PressureLaw({n: float(rng.uniform(0, 1)) for n in NAMES})
    exchange = Exchange(shared_nodes(workers), NodeSlowdowns(law), {})
    roles = some_roles(rng, workers)
    reached = total(exchange, exchange.improved(roles), law, workers)
    best = min(
        total(exchange, Roles(dict(zip(workers, each, strict=True)), roles.devices, roles.held), law, workers)
        for each in permutations(roles.of.values())
    )
    assert reached <= best + 2 * module.LEAST_GAIN + 2 * module.LOADING


def test_workers_of_different_device_types_keep_their_roles() -> None:
    workers = on_nodes(2, 2)
    devices = dict(zip(workers, ("cpu", "gpu", "gpu", "cpu"), strict=True))
    law = PairLaw({("a", "b"): 1.0, ("b", "a"): 1.0})
    of = {w: Role(frozenset(v), (("e", 0.5),), 1.0) for w, v in zip(workers, "abab", strict=True)}
    found = Exchange(shared_nodes(workers), NodeSlowdowns(law), {}).improved(Roles(of, devices))
    assert [sorted(found.of[w].holds) for w in workers] == [["b"], ["b"], ["a"], ["a"]]
    stuck = dict(zip(workers, ("cpu", "gpu", "cpu", "gpu"), strict=True))
    assert Exchange(shared_nodes(workers), NodeSlowdowns(law), {}).improved(Roles(of, stuck)).of == of


def test_a_variant_costs_as_much_to_load_as_its_memory_is_of_the_largest() -> None:
    exchange = Exchange((), NodeSlowdowns(PairLaw({})), {"a": 10, "b": 5})
    assert exchange.load_cost(frozenset("ab"), frozenset()) == pytest.approx(0.075)
    assert exchange.load_cost(frozenset("ab"), frozenset("a")) == pytest.approx(0.025)
    assert exchange.load_cost(frozenset("c"), frozenset()) == pytest.approx(0.05), "unknown: as the largest"
    assert Exchange((), NodeSlowdowns(PairLaw({})), {}).load_cost(frozenset("c"), frozenset()) == pytest.approx(0.05)
