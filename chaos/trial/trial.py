"""What an experiment has done so far; it lives in this module, since Chaos Toolkit's activities are plain functions."""

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chaoslib.exceptions import ActivityFailed

from chaos.services.start import Choice
from chaos.trial.bench import Bench, bench
from serve_app.testing.queries import Queries
from serve_app.testing.sender import Load


class Mark(NamedTuple):
    """Something that was done to the service, at an instant of the monotonic clock; ``fault`` unless it undoes one."""

    at_s: float
    text: str
    fault: bool


@dataclass
class Trial:
    """One run of an experiment.

    ``outcome`` is told by the probe that waits for the load. ``restored_s`` is how long it took from the last fault
    until all processes and workers were there again. ``undo`` holds by name what rollbacks undo.
    """

    bench: Bench
    marks: list[Mark] = field(default_factory=list)
    load: Load | None = None
    queries: Queries | None = None
    outcome: dict[str, Any] | None = None
    restored_s: float | None = None
    lost_pids: set[int] = field(default_factory=set)
    undo: dict[str, ExitStack] = field(default_factory=dict)

    def mark(self, text: str, fault: bool = True) -> Mark:
        """Note what is done now."""
        made = Mark(time.monotonic(), text, fault)
        self.marks.append(made)
        return made

    def undoing(self, name: str) -> ExitStack:
        """What `undo_all` of that name leaves: contexts that a fault entered, callbacks that end it."""
        return self.undo.setdefault(name, ExitStack())

    def undo_all(self, name: str) -> bool:
        """Leave all faults of that name; False where there are none."""
        stack = self.undo.pop(name, None)
        if stack is not None:
            stack.close()
        return stack is not None


_shared: dict[Choice, Bench] = {}
_own = ExitStack()
_trial: Trial | None = None


def current() -> Trial:
    """The trial under way; raises ActivityFailed where the experiment has no service under test."""
    if _trial is None:
        raise ActivityFailed("there is no service under test; add the control chaos.controls.service to the experiment")
    return _trial


def begin(choice: Choice) -> Trial:
    """A trial on a shared bench of that choice, else on one of its own. Raises RuntimeError where it does not start."""
    global _trial
    made = _shared.get(choice) or _own.enter_context(bench(choice))
    _trial = Trial(made)
    return _trial


def end() -> None:
    """Undo what is not undone yet, and stop the service unless it is shared; fine to call again."""
    global _trial
    ended, _trial = _trial, None
    with ExitStack() as ending:  # each step whatever becomes of the others, the last one first
        ending.callback(_own.close)
        if ended is not None:
            for name in ended.undo:
                ending.callback(ended.undo_all, name)
            if ended.load is not None and ended.bench in _shared.values():
                ending.callback(ended.bench.finish)  # the next one gets a load generator that has nothing to do


def share(choice: Choice, shared: Bench | None) -> None:
    """Let all trials of that choice use one bench, until it is None."""
    if shared is None:
        _shared.pop(choice, None)
    else:
        _shared[choice] = shared
