"""Placements to compare with: one that knows nothing of interference, and one that knows all of it."""

from collections.abc import Mapping, Sequence

from autoscaler.placement.joint import Placement, joint
from autoscaler.placement.machine import LatencySum, Machine


def least_loaded(variants: Sequence[str], machines: Sequence[Machine], load: Mapping[str, float]) -> Placement:
    """Each variant in turn on the machine with the lowest resource utilisation that has room (section 1 of the paper).

    A machine's utilisation is the ``load`` of all that was placed there, in sum, 1 for a variant that has none given.
    Of equals the one with the fewest variants, and of those the first. Indifferent to machine types and to who else
    runs there. Raises ValueError where no machine has room.
    """
    used = [0.0] * len(machines)
    number = [0] * len(machines)
    placed = []
    for variant in variants:
        free = [column for column, machine in enumerate(machines) if number[column] < machine.room]
        if not free:
            raise ValueError(f"no room for {variant!r} on {len(machines)} machines; add one")
        column = min(free, key=lambda each: (used[each], number[each], each))
        used[column] += load.get(variant, 1.0)
        number[column] += 1
        placed.append(machines[column].name)
    return tuple(placed)


def earliest_done(
    variants: Sequence[str], machines: Sequence[Machine], load: Mapping[tuple[str, str], float]
) -> Placement:
    """Each variant in turn where the load would be the least with it, of machines that have room.

    ``load`` is by machine type and variant, 1 where none is given: list scheduling on unrelated machines. It knows how
    fast machines are, and not who disturbs whom. Ties and errors are as in `least_loaded`.
    """
    used = [0.0] * len(machines)
    number = [0] * len(machines)
    placed = []
    for variant in variants:
        free = [column for column, machine in enumerate(machines) if number[column] < machine.room]
        if not free:
            raise ValueError(f"no room for {variant!r} on {len(machines)} machines; add one")
        after = {column: used[column] + load.get((machines[column].type, variant), 1.0) for column in free}
        column = min(free, key=lambda each: (after[each], number[each], each))
        used[column] = after[column]
        number[column] += 1
        placed.append(machines[column].name)
    return tuple(placed)


def oracle(variants: Sequence[str], machines: Sequence[Machine], truth: LatencySum) -> Placement:
    """The best placement for one who knows the true slowdowns: what the paper calls the oracular minimum (section 1).

    The search of `joint`, with an interference in ``truth`` that does not predict but knows.
    """
    return joint(variants, machines, truth)
