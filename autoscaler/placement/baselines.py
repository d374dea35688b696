"""Placements to compare with: two that know nothing of interference, and one that knows all of it."""

from collections.abc import Callable, Mapping, Sequence

from autoscaler.placement.joint import Placement, joint
from autoscaler.placement.machine import LatencySum, Machine


def least_loaded(variants: Sequence[str], machines: Sequence[Machine], load: Mapping[str, float]) -> Placement:
    """Each variant in turn on the machine with the lowest resource utilisation that has room (section 1 of the paper).

    A machine's utilisation is the ``load`` of all that was placed there, in sum, 1 for a variant that has none given.
    Of equals the one with the fewest variants, and of those the first. Indifferent to machine types and to who else
    runs there. Raises ValueError where no machine has room.
    """
    return _in_turn(variants, machines, lambda _, variant: load.get(variant, 1.0), with_own=False)


def earliest_done(
    variants: Sequence[str], machines: Sequence[Machine], load: Mapping[tuple[str, str], float]
) -> Placement:
    """Each variant in turn where the load would be the least with it, of machines that have room.

    ``load`` is by machine type and variant, 1 where none is given: list scheduling on unrelated machines. It knows how
    fast machines are, and not who disturbs whom. Ties and errors are as in `least_loaded`.
    """
    return _in_turn(variants, machines, lambda machine, variant: load.get((machine.type, variant), 1.0), with_own=True)


def oracle(variants: Sequence[str], machines: Sequence[Machine], truth: LatencySum) -> Placement:
    """The best placement for one who knows the true slowdowns: what the paper calls the oracular minimum (section 1).

    The search of `joint`, with an interference in ``truth`` that does not predict but knows.
    """
    return joint(variants, machines, truth)


def _in_turn(
    variants: Sequence[str], machines: Sequence[Machine], load_of: Callable[[Machine, str], float], *, with_own: bool
) -> Placement:
    """Each on the machine with the least load, its own there included or not."""
    used = [0.0] * len(machines)
    number = [0] * len(machines)
    placed = []
    for variant in variants:
        free = [column for column, machine in enumerate(machines) if number[column] < machine.room]
        if not free:
            raise ValueError(f"no room for {variant!r} on {len(machines)} machines; add one")
        after = {column: used[column] + load_of(machines[column], variant) for column in free}
        compared = after if with_own else used
        *_, column = min((compared[each], number[each], each) for each in free)
        used[column] = after[column]
        number[column] += 1
        placed.append(machines[column].name)
    return tuple(placed)
