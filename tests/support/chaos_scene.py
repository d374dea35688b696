"""A trial without a service: a load that came back, and processes that are called what Ray calls them."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil

from chaos.services.family import title
from chaos.services.start import Choice
from chaos.services.under_test import UnderTest
from chaos.trial import trial
from chaos.trial.bench import Bench
from chaos.trial.trial import Trial
from serve_app.loadgen.dataset import Dataset
from serve_app.loadgen.record import Record
from serve_app.testing.queries import Queries
from serve_app.testing.sender import Load

PLAYED = Choice("played")
ROWS = 4
SLO_MS = 100.0
BEST_RIGHT = np.array([True, True, True, False])
SPIN = "import time\nwhile True: sum(range(1000))"


class PlayedSender:
    """Answers loads at once as a service would that takes ``run_s`` for each query, one after the other."""

    def __init__(self, run_s: float) -> None:
        self.loads_qps: list[float] = []
        self._run_s = run_s
        self._load: Load | None = None

    def begin(self, load: Load) -> None:
        self._load = load
        self.loads_qps.append(len(load.times_s) / max(load.duration_s, 1e-9))

    def finish(self) -> Queries:
        assert self._load is not None
        records, free_s = [], 0.0
        for at_s in self._load.times_s.tolist():
            free_s = max(at_s, free_s) + self._run_s
            records.append(sent(at_s, free_s - at_s))
        return queries(*records, began_s=self._load.begin_s)


def bench_of(processes: Sequence[psutil.Process], folder: Path, sender: PlayedSender | None = None) -> Bench:
    """A bench of these processes, which sends nothing without a sender."""
    data = Dataset((b"{}",) * ROWS, (0,) * ROWS)
    there = lambda: [process for process in processes if process.is_running()]  # noqa: E731
    service = UnderTest("played", "http://127.0.0.1:1", "e", SLO_MS, data, folder, there, 10.0, BEST_RIGHT)
    return Bench(service, sender)  # type: ignore[arg-type]


@contextmanager
def trial_on(bench: Bench) -> Iterator[Trial]:
    """A trial on the bench until the block ends."""
    trial.share(PLAYED, bench)
    try:
        yield trial.begin(PLAYED)
    finally:
        trial.end()
        trial.share(PLAYED, None)


@contextmanager
def called(*titles: str) -> Iterator[list[psutil.Process]]:
    """A process that computes for each title, under that name, until the block ends."""
    started = [subprocess.Popen([name, "-c", SPIN], executable=sys.executable) for name in titles]
    try:
        found = [psutil.Process(each.pid) for each in started]
        for process, name in zip(found, titles, strict=True):
            while not title(process).startswith(name):  # the system shows the name a moment after the start
                time.sleep(0.001)
        yield found
    finally:
        for each in started:
            each.kill()
            each.wait()


def stops(process: psutil.Process, stopped: bool = True, within_s: float = 30.0) -> bool:
    """Wait until the system says that a process is stopped, or not; whether it did."""
    end_s = time.monotonic() + within_s
    while (process.status() == psutil.STATUS_STOPPED) is not stopped and time.monotonic() < end_s:
        time.sleep(0.01)
    return (process.status() == psutil.STATUS_STOPPED) is stopped


def sent(at_s: float, wait_s: float = 0.02, status: int = 200, kind: str | None = None, right: bool = True) -> Record:
    """A query that left at an instant of the run; ``kind`` of the error where there is one."""
    correct = None if kind else right
    return Record(at_s, at_s, at_s + wait_s, status, None if kind else "v", None, None, correct, kind, kind)


def queries(*records: Record, began_s: float = 0.0) -> Queries:
    """What came back, in the order of sending."""
    return Queries.of(sorted(records, key=lambda record: record.intended_s), began_s)


def even(seconds: float, qps: int = 10) -> list[Record]:
    """Queries answered in time."""
    return [sent(float(at_s)) for at_s in np.arange(0.0, seconds, 1.0 / qps)]
