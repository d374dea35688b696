"""Sets of members that are chosen for each other's sake."""

from math import inf

from autoscaler.planners.cocktail.portfolio import Chosen, cheapest_together, member_loads
from dispatch.ensemble.member import MemberSet


def asked(*members: str) -> MemberSet:
    return MemberSet((members,), 0.8, 0.1, 0.1, 0.1, shares=dict.fromkeys(members, 1.0))


LOADS = {"strict": 10.0, "mild": 20.0}


def test_members_that_others_need_already_are_preferred() -> None:
    options = {"strict": [asked("a", "b")], "mild": [asked("c"), asked("b")]}

    def machines(chosen: Chosen) -> float:
        return float(len(member_loads(chosen, LOADS)))

    start = {kind: own[0] for kind, own in options.items()}
    assert cheapest_together(options, [start], machines) == {"strict": asked("a", "b"), "mild": asked("b")}


def test_the_best_of_several_starts_is_taken() -> None:
    options = {"strict": [asked("a"), asked("b")], "mild": [asked("a"), asked("b")]}
    prices = {"a": 2.0, "b": 1.0}

    def both_alike(chosen: Chosen) -> float:
        loads = member_loads(chosen, LOADS)
        return sum(prices[member] for member in loads) + 10.0 * (len(loads) > 1)

    stuck = {kind: asked("a") for kind in options}
    assert cheapest_together(options, [stuck], both_alike) == stuck
    assert cheapest_together(options, [stuck, {kind: asked("b") for kind in options}], both_alike) == {
        kind: asked("b") for kind in options
    }


def test_where_everything_costs_infinitely_much_it_is_the_first_start() -> None:
    options = {"strict": [asked("a"), asked("b")], "mild": [asked("a"), asked("b")]}
    starts = [{kind: own[place] for kind, own in options.items()} for place in (0, 1)]
    assert cheapest_together(options, starts, lambda chosen: inf) == starts[0]


def test_loads_of_members_are_summed_over_kinds() -> None:
    half = MemberSet((("a",), ("b",)), 0.8, 0.2, 0.1, 0.15, shares={"a": 1.0, "b": 0.5})
    assert member_loads({"strict": half, "mild": asked("b")}, LOADS) == {"a": 10.0, "b": 25.0}
