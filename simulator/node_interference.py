"""Workers on one node in virtual time: a batch takes longer while its neighbours run something."""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from autoscaler.placement.interference import Interference
from autoscaler.placement.nodes import shared_nodes
from dispatch.query import Batch
from dispatch.worker_info import WorkerInfo
from predictor.configuration import Configuration


class Due(NamedTuple):
    """When a batch will be done, if nothing changes on its node, and how long it will have run.

    It ``waited_s`` for the batch before it on its worker.
    """

    done_s: float
    batch: Batch
    run_s: float
    waited_s: float = 0.0


@dataclass
class _Run:
    batch: Batch
    left_s: float  # of the run, if it went on alone
    path_s: float
    slowdown: float = 1.0
    began_s: float = 0.0
    at_s: float = 0.0  # when `left_s` was true
    done_s: float = 0.0

    def begin(self, now_s: float) -> None:
        self.began_s = self.at_s = now_s

    def advance(self, now_s: float) -> None:
        self.left_s = max(self.left_s - (now_s - self.at_s) / self.slowdown, 0.0)
        self.at_s = now_s


class NodeInterference:
    """What batches that run at the same time on one node do to each other, by a law that knows.

    A batch goes on at one over its slowdown beside what the node's other workers run at that time; whenever one of them
    starts or ends, what is left of the others' runs takes its new time. A neighbour runs until its result is back, and
    what was launched behind it begins then. For one run of one host; ``workers`` are all that there ever are. Workers
    that have their node to themselves, or whose node is unknown, run as if alone.
    """

    def __init__(self, workers: Mapping[str, WorkerInfo], law: Interference) -> None:
        self._law = law
        nodes = shared_nodes(workers)
        self._node = {worker: number for number, node in enumerate(nodes) for worker in node.workers}
        self._machine = [node.machine for node in nodes]
        self._running: list[dict[str, _Run]] = [{} for _ in nodes]
        self._behind: defaultdict[str, deque[_Run]] = defaultdict(deque)  # by worker
        self._known: dict[tuple[str, ...], tuple[float, ...]] = {}

    def start(self, batch: Batch, run_s: float, path_s: float, now_s: float) -> list[Due] | None:
        """The batch is launched, which would take so long alone: when it will be done, and others of its node from now.

        None where its worker is alone, and nothing here concerns it.
        """
        node = self._node.get(batch.worker)
        if node is None:
            return None
        run = _Run(batch, run_s, path_s)
        if batch.worker in self._running[node]:
            self._behind[batch.worker].append(run)
            return []
        return self._begin(run, node, now_s)

    def end(self, batch: Batch, now_s: float) -> list[Due]:
        """The batch's result is back: when others of its node will be done from now, and what waited for it."""
        node = self._node.get(batch.worker)
        if node is None:
            return []
        for each in self._running[node].values():
            each.advance(now_s)
        del self._running[node][batch.worker]
        behind = self._behind[batch.worker]
        return self._begin(behind.popleft(), node, now_s) if behind else self._changed(node, now_s)

    def _begin(self, run: _Run, node: int, now_s: float) -> list[Due]:
        for each in self._running[node].values():
            each.advance(now_s)
        run.begin(now_s)
        self._running[node][run.batch.worker] = run
        return self._changed(node, now_s)

    def _changed(self, node: int, now_s: float) -> list[Due]:
        """The runs of a node whose end is another than before."""
        runs = list(self._running[node].values())
        key = (self._machine[node], *(run.batch.variant for run in runs))
        slowdowns = self._known.get(key)
        if slowdowns is None:
            (slowdowns,) = self._law.slowdowns([Configuration(key[0], key[1:])])
            self._known[key] = slowdowns
        found = []
        for run, slowdown in zip(runs, slowdowns, strict=True):
            if run.left_s > 0.0 and (not run.done_s or slowdown != run.slowdown):
                run.slowdown = slowdown
                left_s = run.left_s * slowdown
                run.done_s = now_s + left_s + run.path_s
                waited_s = run.began_s - run.batch.launched_s
                found.append(Due(run.done_s, run.batch, now_s + left_s - run.began_s, waited_s))
        return found
