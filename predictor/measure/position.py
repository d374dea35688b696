"""A process that runs one variant at a time beside others."""

import gc
import os
import resource
import signal
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, MutableSequence
from multiprocessing.connection import Connection

import psutil

from predictor.measure.program import Program, Programs
from predictor.measure.requests import Answer, Answered, Batches, Load, Loaded, Queries, Request, Trial, Window

_TRIALS = 5
_TRIALS_S = 0.25


def serve(
    connection: Connection,
    programs: Programs,
    position: int,
    done: MutableSequence[int],
    cpus: Collection[int],
    keep_bytes: int,
) -> None:
    """Answer requests until None comes, or the other end is closed.

    ``done`` is shared by all positions, each of which writes the number of the window that it is done with at its own
    place. Runs on ``cpus``, where there are any. Keeps variants that were used last, up to ``keep_bytes`` of them.
    An error is answered, not raised.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides when to end
    spread = _Spread(cpus)
    held = _Held(programs, keep_bytes)
    gc.disable()  # no batch is to be the one that it falls on
    connection.send(Loaded(0))
    while True:
        try:
            request: Request | None = connection.recv()
        except EOFError:
            return
        if request is None:
            return
        try:
            answer = _answer(request, held, spread, position, done)
        except Exception as error:
            if isinstance(request, Window):
                done[position] = request.number
            answer = error
        connection.send(answer)


class _Held:
    """The variants that are loaded, the one used last at the end."""

    def __init__(self, programs: Programs, keep_bytes: int) -> None:
        self._programs = programs
        self._keep_bytes = keep_bytes
        self._loaded: OrderedDict[str, Program] = OrderedDict()
        self._batches: dict[tuple[str, int], Callable[[], object]] = {}

    def prepare(self, variant: str) -> None:
        """Imports count as nobody's memory."""
        if variant not in self._loaded:
            self._programs.prepare(variant)

    def batch(self, variant: str, rows: int) -> Callable[[], object]:
        if variant not in self._loaded:
            self._loaded[variant] = self._programs.load(variant)
            self._unload_oldest()
            gc.collect()
        self._loaded.move_to_end(variant)
        if (variant, rows) not in self._batches:
            self._batches[variant, rows] = self._loaded[variant].batch_of(rows)
            self._batches[variant, rows]()
        return self._batches[variant, rows]

    def _unload_oldest(self) -> None:
        """Until the others, with the newest, are no more than may be kept."""
        while len(self._loaded) > 1 and sum(each.memory_bytes() for each in self._loaded.values()) > self._keep_bytes:
            name, oldest = self._loaded.popitem(last=False)
            self._batches = {key: each for key, each in self._batches.items() if key[0] != name}
            oldest.unload()


def _answer(request: Request, held: _Held, spread: "_Spread", position: int, done: MutableSequence[int]) -> Answer:
    if isinstance(request, Load):
        held.prepare(request.variant)
        before = _resident_bytes()
        held.batch(request.variant, request.rows)
        return Loaded(max(0, _resident_bytes() - before))
    batch = held.batch(request.variant, request.rows)
    if isinstance(request, Trial):
        return _least_s(batch)
    if isinstance(request, Queries):
        return _answer_queries(request, batch)
    spread.begin(request.turn)
    return _run(request, batch, position, done)


class _Spread:
    """Where the process computes: on ``cpus``, and at the beginning of each window on the one whose turn it is.

    Where more processes compute than there are CPUs, the kernel leaves them where they are for tenths of a second, so
    that in each window some share a CPU by chance, and others do not.
    """

    def __init__(self, cpus: Collection[int]) -> None:
        self._cpus = sorted(cpus)
        os.sched_setaffinity(0, self._cpus)

    def begin(self, turn: int) -> None:
        """Move there; from then on the kernel may move the process where it likes."""
        os.sched_setaffinity(0, {self._cpus[turn % len(self._cpus)]})
        os.sched_setaffinity(0, self._cpus)


def _least_s(batch: Callable[[], object]) -> float:
    """The shortest of a few batches: what disturbs them only makes them longer."""
    least_s, began_s = float("inf"), time.perf_counter()
    for _ in range(_TRIALS):
        before_s = time.perf_counter()
        batch()
        after_s = time.perf_counter()
        least_s = min(least_s, after_s - before_s)
        if after_s - began_s > _TRIALS_S:
            break
    return least_s


def _run(window: Window, batch: Callable[[], object], position: int, done: MutableSequence[int]) -> Batches:
    """The measured batches begin one after the other until their time is over, and all that began are measured.

    So the mean is that of batches drawn one after the other until a time is over (Wald's equation). Leaving out the one
    that is under way at the end would leave out long ones more often than short ones.
    """
    clock = time.perf_counter
    whole_cpu_s = time.process_time()
    while (now_s := clock()) < window.start_s:
        batch()
    first_s, end_s, count = now_s, now_s + window.seconds, 0
    cpu_s, usage = time.process_time(), resource.getrusage(resource.RUSAGE_SELF)
    while now_s < end_s:
        batch()
        now_s = clock()
        count += 1
    cpu_s, used = time.process_time() - cpu_s, resource.getrusage(resource.RUSAGE_SELF)
    done[position] = window.number
    while any(done[other] != window.number for other in window.positions):
        batch()
    return Batches(
        ran=count,
        seconds=now_s - first_s,
        cpu_s=cpu_s,
        voluntary_switches=used.ru_nvcsw - usage.ru_nvcsw,
        involuntary_switches=used.ru_nivcsw - usage.ru_nivcsw,
        whole_cpu_s=time.process_time() - whole_cpu_s,
    )


def _answer_queries(queries: Queries, batch: Callable[[], object]) -> Answered:
    clock, latencies_s = time.perf_counter, []
    cpu_s = time.process_time()
    for arrival_s in queries.arrivals_s:
        arrived_s = queries.start_s + arrival_s
        if (early_s := arrived_s - clock()) > 0:
            time.sleep(early_s)
        batch()
        latencies_s.append(clock() - arrived_s)
    return Answered(tuple(latencies_s), time.process_time() - cpu_s)


def _resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)
