"""A client process of this benchmark, from outside."""

import pickle
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np

from benchmarks.overload.sent import Sent
from workload.rate import RateSchedule
from workload.renewal import Poisson

STOP_S = 5.0


class Sender:
    """Sends ``requests`` by turns to ``port``; one load at a time. Ends with its block."""

    def __init__(self, port: int, requests: Sequence[bytes]) -> None:
        command = [sys.executable, "-m", "benchmarks.overload.client"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._write((port, list(requests)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait(STOP_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    @property
    def pid(self) -> int:
        """Of the client."""
        return self._process.pid

    def begin(self, load_qps: float, duration_s: float, seed: int, leaving_s: float | None = None) -> None:
        """Send Poisson arrivals; `finish` waits for their end. With ``leaving_s``, see `Client.run`."""
        times_s = np.asarray(Poisson(RateSchedule.constant(load_qps), seed).times_s(duration_s), dtype=np.float64)
        self._write((times_s, leaving_s))

    def finish(self) -> Sent:
        """Wait until every query has ended. Raises EOFError where the client died."""
        assert self._process.stdout is not None
        sent = pickle.load(self._process.stdout)
        assert isinstance(sent, Sent)
        return sent

    def send(self, load_qps: float, duration_s: float, seed: int) -> Sent:
        """An even load, to its end."""
        self.begin(load_qps, duration_s, seed)
        return self.finish()

    def _write(self, message: object) -> None:
        assert self._process.stdin is not None
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()
