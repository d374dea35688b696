"""Where to place one more variant among many machines, from costs that are known beforehand."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from autoscaler.placement.machine import LatencySum, Machine
from predictor.configuration import Configuration

MOST_ROWS = 4096
"""Rows that are remembered, by machine type and what runs there: 32 MB with 1,000 variants."""


class MachineCosts:
    """The cost C of section 3.3 of the paper for every variant and machine, kept up to date as variants come and go.

    ``C[i, j]`` is the predicted latency of variant i on machine j beside what runs there, and the predicted latencies
    of all that run on any machine, those on j beside i. Only the sum of machine j depends on j: with ``T(j)`` the sum
    of what runs there, ``C[i, j] = sum of all T + T(j with i) - T(j)``. What is kept is that difference, what i adds
    to j, since its minimum is C's: when what runs on one machine changes, only its column does.

    Machines of one type on which the same variants run have the same column, which is worked out once, in one call of
    the interference for all variants. A machine without room takes nothing.

    Raises ValueError where two machines have one name, and for what `add` raises it.
    """

    def __init__(
        self,
        variants: Sequence[str],
        machines: Sequence[Machine],
        cost: LatencySum,
        running: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._variants = list(dict.fromkeys(variants))
        self._machines = list(machines)
        self._cost = cost
        self._row_of = {variant: row for row, variant in enumerate(self._variants)}
        self._column_of = {machine.name: column for column, machine in enumerate(machines)}
        if len(self._column_of) < len(machines):
            names = [machine.name for machine in machines]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"machines {', '.join(twice)} are there more than once; give each a name of its own")
        self._running: list[tuple[str, ...]] = [()] * len(machines)
        self._sums_s = np.zeros(len(machines))
        self._added_s = np.empty((len(self._variants), len(machines)))
        self._known: OrderedDict[Configuration, tuple[float, NDArray[np.float64]]] = OrderedDict()
        for name, own in (running or {}).items():
            self._check_room(self._column(name), len(own))
            self._running[self._column(name)] = tuple(sorted(own))
        for column in range(len(machines)):
            self._update(column)

    @property
    def total_s(self) -> float:
        """The predicted latencies of all that run, in sum."""
        return float(self._sums_s.sum())

    def running(self, machine: str) -> tuple[str, ...]:
        """What runs on a machine, in the order of the names."""
        return self._running[self._column(machine)]

    def cost_s(self, variant: str, machine: str) -> float:
        """``C[variant, machine]`` in seconds; infinite where the variant cannot go there."""
        return self.total_s + float(self._added_s[self._row(variant), self._column(machine)])

    def place(self, variant: str) -> str | None:
        """The machine with the lowest cost, of equals the first; None where none has room. Takes no prediction."""
        added_s = self._added_s[self._row(variant)]
        column = int(added_s.argmin()) if len(added_s) else -1
        return self._machines[column].name if column >= 0 and isfinite(added_s[column]) else None

    def power_of_two(self, variant: str, rng: np.random.Generator) -> str | None:
        """The better one of two machines that ``rng`` draws (section 3.3, after Mitzenmacher).

        Constant time however many there are. Where neither takes the variant, the best of all.
        """
        if len(self._machines) < 2:
            return self.place(variant)
        first = int(rng.integers(len(self._machines)))
        other = (first + 1 + int(rng.integers(len(self._machines) - 1))) % len(self._machines)
        added_s = self._added_s[self._row(variant)]
        column = min(first, other, key=lambda each: (added_s[each], each))
        return self._machines[column].name if isfinite(added_s[column]) else self.place(variant)

    def add(self, variant: str, machine: str) -> None:
        """The variant runs on the machine from now on; linear in the number of variants.

        Raises ValueError for names that are not known, and where the machine has no room or cannot run it.
        """
        row, column = self._row(variant), self._column(machine)
        self._check_room(column, len(self._running[column]) + 1)
        if not isfinite(self._added_s[row, column]):
            raise ValueError(
                f"{variant!r} has no latency on {machine}, a {self._machines[column].type}; place it where it has one"
            )
        self._running[column] = tuple(sorted((*self._running[column], variant)))
        self._update(column)

    def remove(self, variant: str, machine: str) -> None:
        """The variant does not run there any more. Raises ValueError where it did not."""
        column = self._column(machine)
        left = list(self._running[column])
        if variant not in left:
            raise ValueError(f"{variant!r} does not run on {machine}; there run {', '.join(left) or 'none'}")
        left.remove(variant)
        self._running[column] = tuple(left)
        self._update(column)

    # -- inner steps ------------------------------------------------------------------------------------------

    def _update(self, column: int) -> None:
        machine, own = self._machines[column], self._running[column]
        now = Configuration(machine.type, own)
        if len(own) < machine.room:
            self._sums_s[column], self._added_s[:, column] = self._costs(now)
        else:
            self._sums_s[column], self._added_s[:, column] = float(self._cost.of([now])[0]), inf

    def _costs(self, now: Configuration) -> tuple[float, NDArray[np.float64]]:
        """The sum of what runs on such a machine, and what each variant would add: shape [variants]."""
        if now not in self._known:
            more = [Configuration(now.machine, (*now.variants, variant)) for variant in self._variants]
            sum_s, *sums_s = self._cost.of([now, *more])
            self._known[now] = float(sum_s), np.array(sums_s) - sum_s
            if len(self._known) > MOST_ROWS:
                self._known.popitem(last=False)
        return self._known[now]

    def _check_room(self, column: int, wanted: int) -> None:
        machine = self._machines[column]
        if wanted > machine.room:
            raise ValueError(f"{machine.name} has room for {machine.room} variants, not {wanted}; place one elsewhere")

    def _row(self, variant: str) -> int:
        return _found(self._row_of, variant, "variant")

    def _column(self, machine: str) -> int:
        return _found(self._column_of, machine, "machine")


def _found(numbers: Mapping[str, int], name: str, kind: str) -> int:
    if name not in numbers:
        raise ValueError(f"{kind} {name!r} is not known; known are {_some(numbers)}")
    return numbers[name]


def _some(names: Iterable[str], most: int = 5) -> str:
    listed = sorted(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")
