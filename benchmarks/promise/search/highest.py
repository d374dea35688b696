"""The highest load that any policy sustains on this machine as it is, found by trying live services."""

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

from benchmarks.machine import loop_s
from benchmarks.promise.cases.figures import Figures
from benchmarks.promise.search.bisection import raised_qps
from benchmarks.promise.systems import ENDPOINT, System
from serve_app.loadgen.dataset import Dataset
from serve_app.testing.sender import Sender
from serve_app.testing.service import running, send, sending

TRIAL_S, UNJUDGED_S = 7.0, 2.5
"""A trial is so long, and its first seconds do not count."""

CONFIRMING_S = 14.0
REST_S, RELIEF_S = 1.0, 5.0
"""After a trial, and after one that was not sustained: what it left behind is not the next one's."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Highest:
    """``load_qps`` is what ``policy`` sustains; ``trials`` loads were tried, of all policies together.

    ``policy`` is None where the load was given. ``loop_s`` is what `benchmarks.machine.loop_s` took when it was found:
    on a machine that has become faster or slower since, the highest load is another.
    """

    load_qps: float
    policy: str | None
    trials: int
    loop_s: float

    def now_qps(self, loop_s: float) -> float:
        """The highest load of a machine that takes so long for the loop by now.

        Never more than was found: a machine that runs a short loop faster has not been seen to bear more.
        """
        return self.load_qps * min(self.loop_s / loop_s, 1.0)


def find(systems: Sequence[System], dataset: Dataset, say: Say, seed: int, start_qps: float) -> Highest:
    """The systems one after the other, the first from ``start_qps`` on, each other only beyond what those before it
    sustain.

    Raises RuntimeError where none sustains any load.
    """
    best = Highest(0.0, None, 0, loop_s())
    for system in systems:
        with TemporaryDirectory() as name, ExitStack() as stack:
            folder = Path(name)
            service = stack.enter_context(running(system.config(folder), folder, ENDPOINT, dataset.bodies[0]))
            trials = _Trials(stack.enter_context(sending(service, ENDPOINT, dataset)), system.name, say, seed)
            load_qps = raised_qps(trials.short, trials.long, best.load_qps, start_qps)
            found = Highest(load_qps, system.name, best.trials + trials.count, loop_s())
        best = found if load_qps > best.load_qps else replace(best, trials=found.trials)
    if not best.load_qps:
        raise RuntimeError("no policy keeps violations within 1% at any load; see what else runs on this machine")
    return best


class _Trials:
    """Tries loads on a service that runs; ``count`` is how many."""

    def __init__(self, sender: Sender, name: str, say: Say, seed: int) -> None:
        self.count = 0
        self._sender, self._name, self._say, self._seed = sender, name, say, seed

    def short(self, load_qps: float) -> bool:
        """Whether a load is sustained for some seconds."""
        return self._sustains(load_qps, TRIAL_S)

    def long(self, load_qps: float) -> bool:
        """Whether it is for twice as long."""
        return self._sustains(load_qps, CONFIRMING_S)

    def _sustains(self, load_qps: float, seconds: float) -> bool:
        """Whether violations by the server's account stay within the promise once the load has begun."""
        self.count += 1
        queries = send(self._sender, load_qps, seconds, self._seed + self.count)
        from_s = float(queries.intended_s.min()) + UNJUDGED_S
        figures = Figures.of(queries.intended_in([(from_s, math.inf)]), slo_ms=math.inf)
        self._say(f"{self._name} at {load_qps:.0f}/s: {figures.violations_server_pct or 0.0:.2f}% violations")
        sleep(REST_S if figures.kept else RELIEF_S)
        return bool(figures.kept)
