"""A service under test with a load generator, and what it carries; experiments share it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from chaos.services.start import Choice, started
from chaos.services.under_test import UnderTest
from chaos.trial.parts import PARTS, of_part
from serve_app.loadgen.endpoint import Endpoint
from serve_app.testing.queries import Queries
from serve_app.testing.sender import TIMEOUT_S, Load, Sender
from workload.rate import RateSchedule
from workload.renewal import Poisson

SOON_S = 0.3
FIRST_QPS, LEAST_QPS, GROWTH, STEP_S = 20.0, 2.5, 2.0, 2.0
"""Calibration raises the load by this factor, a step of so many seconds after the other, or lowers it by that."""

STEP_QUERIES, STEP_ATTEMPTS = 40.0, 2
"""At a low load a step takes longer, until it has about so many queries."""

BEARABLE = 0.05
"""A load is carried as long as no more of its queries fail or are late, by the client's clock."""


class Bench:
    """Sends loads to one service, one at a time.

    ``carried_qps`` is the highest load that it carried when that was tried, ``whole`` how many processes each part had
    then.
    """

    def __init__(self, service: UnderTest, sender: Sender) -> None:
        self.service = service
        self.carried_qps = FIRST_QPS
        self.whole: Mapping[str, int] = {}
        self._sender = sender
        self._seed = 0

    def begin(self, load_qps: float, seconds: float) -> Load:
        """Begin to send a Poisson load; `finish` waits for it."""
        self._seed += 1
        times_s = Poisson(RateSchedule.constant(load_qps), self._seed).times_s(seconds)
        load = Load(times_s, seconds, time.monotonic() + SOON_S)
        self._sender.begin(load)
        return load

    def finish(self) -> Queries:
        """All queries of the load that began last, once each has ended; raises RuntimeError where the sender died."""
        try:
            return self._sender.finish()
        except EOFError as error:
            raise RuntimeError("the load generator died; look at its messages above") from error

    def send(self, load_qps: float, seconds: float) -> Queries:
        """An even load to its end."""
        self.begin(load_qps, seconds)
        return self.finish()

    def calibrate(self) -> None:
        """Find what the service carries now; raises RuntimeError where that is less than `LEAST_QPS`."""
        load_qps = FIRST_QPS
        while not self._carries(load_qps):
            load_qps /= GROWTH
            if load_qps < LEAST_QPS:
                raise RuntimeError(
                    f"service {self.service.name!r} does not carry {LEAST_QPS:g} queries/s: more than "
                    f"{100 * BEARABLE:g}% of them fail or take longer than its objective of {self.service.slo_ms:g} ms"
                )
        self.carried_qps = load_qps
        if load_qps < FIRST_QPS:
            return  # twice as much it did not carry a moment ago
        while (load_qps := load_qps * GROWTH) <= self.service.most_qps and self._carries(load_qps):
            self.carried_qps = load_qps

    def _carries(self, load_qps: float) -> bool:
        """Whether it does in one of two steps: something else may have had the machine in one."""
        seconds = max(STEP_S, STEP_QUERIES / load_qps)
        return any(
            violation_rate(self.send(load_qps, seconds), self.service.slo_ms) <= BEARABLE for _ in range(STEP_ATTEMPTS)
        )

    def rows_of(self, queries: Queries) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """The row of the data set of every query of one load: they are sent in turn."""
        return np.arange(len(queries)) % len(self.service.dataset.bodies)


def violation_rate(queries: Queries, slo_ms: float) -> float:
    """The share that failed or was late by the client's clock; 1 where there is none."""
    return float(queries.violated_at_client(slo_ms).mean()) if len(queries) else 1.0


def client_timeout_s(slo_ms: float) -> float:
    """How long the client waits for an answer: longer than the objective, so that late answers are told from none."""
    return max(TIMEOUT_S, 2 * slo_ms / 1e3)


@contextmanager
def bench(choice: Choice) -> Iterator[Bench]:
    """The service that was chosen, calibrated, until the block ends. Raises as `started` does."""
    with started(choice) as service:
        url = Endpoint(service.url, service.endpoint).infer_url
        with Sender(url, service.dataset, service.classes, client_timeout_s(service.slo_ms)) as sender:
            made = Bench(service, sender)
            made.calibrate()
            made.whole = {part: len(of_part(service, part)) for part in PARTS}
            yield made
