"""The processes of a measurement, one for each variant that runs at the same time."""

import multiprocessing
import os
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, NamedTuple, Self

from catalog.errors import AccordError, ConfigError
from predictor.measure.cpu_time import CpuClock
from predictor.measure.position import serve
from predictor.measure.program import Programs
from predictor.measure.requests import Answer, Answered, Batches, Load, Loaded, Queries, Request, Trial, Window

LEAD_S = 0.01
"""From sending the requests of a window to its start: variants run meanwhile, so that the kernel has spread them over
the CPUs and caches are as they are when the measured batches begin."""

START_LIMIT_S = 60.0


class Role(NamedTuple):
    """A variant as it runs: with so many rows in each batch."""

    variant: str
    rows: int


class Positions:
    """So many processes, each of which runs one variant at a time; ends them when it is left.

    They start with `Programs` from nothing (spawn), run on ``cpus`` (all that this process may use, where there are
    none), and each keeps up to ``keep_bytes`` of variants loaded. Raises `ConfigError` where the system is not Linux,
    and `AccordError` where a process ends or a variant fails.
    """

    def __init__(self, programs: Programs, number: int, cpus: Collection[int] = (), keep_bytes: int = 1 << 30) -> None:
        if not hasattr(os, "sched_setaffinity"):
            raise ConfigError("interference can be measured on Linux only, where processes can be bound to CPUs")
        self.clock = CpuClock(cpus)
        self._window = 0
        context = multiprocessing.get_context("spawn")
        self._done = context.RawArray("q", number)
        self._ends: list[Connection] = []
        self._processes: list[Any] = []
        for position in range(number):
            own, other = context.Pipe()
            arguments = (other, programs, position, self._done, self.clock.cpus, keep_bytes)
            process = context.Process(target=serve, args=arguments, daemon=True, name=f"position {position}")
            process.start()
            other.close()
            self._ends.append(own)
            self._processes.append(process)

    def __enter__(self) -> Self:
        try:
            self._receive(range(len(self._ends)), START_LIMIT_S)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for end, process in zip(self._ends, self._processes, strict=True):
            if error is None:
                with suppress(OSError):  # it has ended already
                    end.send(None)
                process.join(timeout=5)
            process.kill()
            process.join()
            process.close()
            end.close()

    def load(self, roles: Sequence[Role], first: int = 0) -> list[Loaded]:
        """Have each role ready at the positions from ``first`` on, counted round."""
        requests: dict[int, Request] = {
            (first + index) % len(self._ends): Load(*role) for index, role in enumerate(roles)
        }
        return [each for each in self._ask(requests) if isinstance(each, Loaded)]

    def trial_s(self, role: Role) -> float:
        """Least seconds of a few batches at the first position, which is the only one that works."""
        (found,) = self._ask({0: Trial(*role)})
        assert isinstance(found, float)
        return found

    def window(self, roles: Sequence[Role], seconds: float, first: int = 0) -> list[Batches]:
        """Run ``roles`` at the same time, at the positions from ``first`` on, counted round; batches of each role."""
        self.load(roles, first)
        self._window += 1
        start_s = time.perf_counter() + LEAD_S
        among = tuple((first + index) % len(self._ends) for index in range(len(roles)))
        requests: dict[int, Request] = {
            position: Window(self._window, *role, start_s, seconds, among, turn=(first + index) % len(roles))
            for index, (position, role) in enumerate(zip(among, roles, strict=True))
        }
        return [each for each in self._ask(requests) if isinstance(each, Batches)]

    def answer(self, roles: Sequence[Role], arrivals_s: Sequence[Sequence[float]], start_s: float) -> list[Answered]:
        """Have ``roles`` answer queries at the same time, at the positions from the first on, as they arrive.

        ``arrivals_s`` of each role count from ``start_s`` of the monotonic clock, which must be far enough ahead for
        the requests to be there.
        """
        self.load(roles)
        requests: dict[int, Request] = {
            position: Queries(*role, start_s, tuple(own))
            for position, (role, own) in enumerate(zip(roles, arrivals_s, strict=True))
        }
        return [each for each in self._ask(requests) if isinstance(each, Answered)]

    def _ask(self, requests: dict[int, Request]) -> list[Answer]:
        """Answers in the order of the requests; all are in before an error of one is raised."""
        for position, request in requests.items():
            self._ends[position].send(request)
        answers = self._receive(requests)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def _receive(self, positions: Iterable[int], limit_s: float | None = None) -> list[Answer]:
        """One answer of each; a process that ends is seen at once, since others may wait for it without an end."""
        wanted = {self._ends[position]: position for position in positions}
        answers: dict[int, Answer] = {}
        while len(answers) < len(wanted):
            ready = wait([end for end, position in wanted.items() if position not in answers], limit_s)
            for end in ready:
                assert isinstance(end, Connection)
                try:
                    answers[wanted[end]] = end.recv()
                except (EOFError, OSError):
                    raise AccordError(
                        f"process {wanted[end]} of the measurement ended; see its last words above, and whether the "
                        "machine is short of memory"
                    ) from None
            if not ready:
                raise AccordError(f"a process of the measurement did not start within {limit_s:.0f} s; try again")
        return [answers[position] for position in wanted.values()]
