"""Workers shared out among routers, against every way to do it."""

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given, settings

from autoscaler.placement.ownership import assign_routers
from autoscaler_scene import SEEDS


def uneven(kinds: dict[str, str], routers: list[str], given_to: dict[str, str]) -> bool:
    """Whether some router has two more than another, of one kind or in all."""
    for kind in {None, *kinds.values()}:
        counts = Counter(given_to[worker] for worker, own in kinds.items() if kind in (None, own))
        if max(counts[router] for router in routers) - min(counts[router] for router in routers) > 1:
            return True
    return False


def moved(owners: dict[str, str], given_to: dict[str, str]) -> int:
    return sum(owners.get(worker) != router for worker, router in given_to.items())


@settings(max_examples=150, derandomize=True, deadline=None)
@given(SEEDS)
def test_it_is_even_and_no_even_way_moves_fewer(rng: np.random.Generator) -> None:
    kinds = {f"w{number}": str(rng.choice(["x", "y", "z"])) for number in range(rng.integers(0, 7))}
    routers = [f"r{number}" for number in range(rng.integers(1, 4))]
    owners = {worker: str(rng.choice([*routers, "gone"])) for worker in kinds if rng.random() < 0.8}
    found = assign_routers(kinds, routers, owners)
    assert found.keys() == kinds.keys()
    assert not uneven(kinds, routers, found)
    ways = (dict(zip(kinds, way, strict=True)) for way in product(routers, repeat=len(kinds)))
    assert moved(owners, found) == min(moved(owners, way) for way in ways if not uneven(kinds, routers, way))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(SEEDS)
def test_many_workers_are_even_too_and_stay_when_nothing_changes(rng: np.random.Generator) -> None:
    kinds = {f"w{number:02}": str(rng.integers(0, 7)) for number in range(rng.integers(20, 80))}
    routers = [f"r{number}" for number in range(rng.integers(2, 9))]
    found = assign_routers(kinds, routers, {worker: str(rng.choice(routers)) for worker in kinds})
    assert not uneven(kinds, routers, found)
    assert assign_routers(kinds, routers, found) == found


def test_a_worker_more_moves_nobody_else() -> None:
    owners = {"w1": "r1", "w2": "r2"}
    assert assign_routers(dict.fromkeys(("w1", "w2", "w3"), "x"), ["r1", "r2"], owners).items() > owners.items()


def test_workers_of_a_router_that_is_gone_go_to_the_others() -> None:
    owners = {"w1": "r1", "w2": "gone", "w3": "gone", "w4": "r2"}
    found = assign_routers(dict.fromkeys(owners, "x"), ["r1", "r2"], owners)
    assert (found["w1"], found["w4"], {found["w2"], found["w3"]}) == ("r1", "r2", {"r1", "r2"})


def test_kinds_that_are_left_over_go_to_different_routers() -> None:
    found = assign_routers({"w1": "x", "w2": "y"}, ["r1", "r2"], {"w1": "r1", "w2": "r1"})
    assert sorted(found.values()) == ["r1", "r2"]


def test_the_order_of_the_arguments_does_not_matter() -> None:
    kinds = {f"w{number}": number % 3 for number in range(10)}
    owners = dict.fromkeys(kinds, "r1")
    back = dict(reversed(kinds.items()))
    assert assign_routers(kinds, ["r1", "r2", "r3"], owners) == assign_routers(back, ["r3", "r2", "r1", "r1"], owners)


def test_without_routers_nobody_has_an_owner() -> None:
    assert assign_routers({"w1": "x"}, [], {"w1": "r1"}) == {}
    assert assign_routers({}, ["r1"], {"w1": "r1"}) == {}
