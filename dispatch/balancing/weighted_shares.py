"""Each worker its share."""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import inf

from dispatch.balancing.balancer import WorkerLoad

TOLERANCE = 1e-9
"""Of a turn, against rounding where shares make it begin exactly at a pick."""


class WeightedShares:
    """Gives workers, or groups of workers, jobs in proportion to shares, evenly and without chance.

    The j-th turn of a share s may begin at pick (j - d) / s and is due at (j - 1 + d) / s, where d is 1 - 1 / (2n - 2)
    of n that have a share; of the turns that may begin, the one that is due first is taken. After any number N of picks
    everyone has had N * s of them, give or take d, which is the least that can be held for all shares (Tijdeman, The
    chairman assignment problem). Merely taking the least (j - 1/2) / s does not do: many small shares then come due
    together, after long runs of a large one.

    ``shares`` are by worker id, and those of the workers present count in proportion; a worker that is not in it has
    none, and is picked only where nobody present has any. ``groups`` maps worker ids to keys: a group has the sum of
    its shares, and in it the worker with the least to do is picked, of equals the one that was not for longest; a
    worker without a key is a group of its own.
    """

    central = False

    def __init__(self, shares: Mapping[str, float], groups: Mapping[str, str] | None = None) -> None:
        for worker, share in shares.items():
            if not 0 <= share < inf:
                raise ValueError(f"share of worker {worker!r} is {share:g}; give a number from 0")
        self._shares = dict(shares)
        self._groups = dict(groups or {})
        self._loads: Sequence[WorkerLoad] = ()
        self._workers: list[str] = []
        self._members: list[list[int]] = []
        self._parts: list[float] = []
        self._turns: list[int] = []
        self._to_come: list[tuple[float, int]] = []
        self._begun: list[tuple[float, int]] = []
        self._picks = 0
        self._leeway = 0.0

    def pick(self, loads: Sequence[WorkerLoad], now_s: float) -> int:
        """The worker whose turn it is, or of whose group it is."""
        if loads is not self._loads:
            self._meet(loads)
        self._picks = picks = self._picks + 1
        to_come, begun = self._to_come, self._begun
        while to_come and to_come[0][0] <= picks + TOLERANCE:
            group = heappop(to_come)[1]
            heappush(begun, ((self._turns[group] + self._leeway) / self._parts[group], group))
        group = heappop(begun or to_come)[1]
        self._turns[group] = turns = self._turns[group] + 1
        heappush(to_come, ((turns + 1 - self._leeway) / self._parts[group], group))
        members = self._members[group]
        return members[0] if len(members) == 1 else _least_loaded(members, loads)

    def phase(self, index: int) -> float:
        """No turns that tables could reckon with."""
        return 0.0

    def _meet(self, loads: Sequence[WorkerLoad]) -> None:
        """Other workers may be there than before; turns begin anew where they are."""
        self._loads = loads
        workers = [load.worker for load in loads]
        if workers == self._workers:
            return
        self._workers = workers
        members: dict[tuple[str, ...], list[int]] = {}
        for index, worker in enumerate(workers):
            if self._shares.get(worker):
                group = self._groups.get(worker)
                members.setdefault(("alone", worker) if group is None else (group,), []).append(index)
        if not members:
            members = {("alone", worker): [index] for index, worker in enumerate(workers)}
        self._members = list(members.values())
        sums = [sum(self._shares.get(workers[index], 0.0) for index in each) for each in self._members]
        total = sum(sums)
        self._parts = [part / total if total else 1 / len(sums) for part in sums]
        self._turns = [0] * len(sums)
        self._leeway = 1 - 1 / (2 * len(sums) - 2) if len(sums) > 1 else 1.0
        self._to_come = [((1 - self._leeway) / part, number) for number, part in enumerate(self._parts)]
        heapify(self._to_come)
        self._begun = []
        self._picks = 0


def _least_loaded(members: list[int], loads: Sequence[WorkerLoad]) -> int:
    """The first of ``members`` with the least to do; it goes to their end."""
    least: float = inf
    chosen = members[0]
    for index in members:
        load = loads[index]
        rows = load.queued_rows + load.running_rows
        if rows < least:
            least, chosen = rows, index
            if not rows:
                break
    members.remove(chosen)
    members.append(chosen)
    return chosen
