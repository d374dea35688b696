"""Plays the loads of one policy under one condition, on one service."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import loop_s
from benchmarks.promise.cases.bursts import rise_s, scaled
from benchmarks.promise.cases.case import Case, judge
from benchmarks.promise.cases.conditions import NEIGHBOUR_SHARE, Condition, Cores
from benchmarks.promise.cases.timeline import Timeline
from benchmarks.promise.cases.windows import WindowCounts, count_windows
from benchmarks.promise.search.highest import Highest
from benchmarks.promise.systems import ENDPOINT, System
from serve_app.loadgen.dataset import Dataset
from serve_app.testing.duty_cycle import brake, neighbour
from serve_app.testing.queries import Queries
from serve_app.testing.sender import Sender
from serve_app.testing.service import Service, running, sending, soon
from serve_app.testing.status_watch import StatusWatch
from workload.rate import RateSchedule

PAUSE_S = 2.0
"""Between two loads, so that the queue of the one is not the other's."""

STEADY, MOST_TIMES = 1.25, 3
"""A case is played again where the machine's speed before and after it differs by more than this factor, but no more
than so often in all: shares of what a machine bears mean nothing where that is another by the end."""

OnCase = Callable[[Case], None]


@dataclass(frozen=True, eq=False)
class Loads:
    """What is sent: the shares of the highest load, the seconds of a case, and the burst, second by second."""

    highest: Highest
    shares: tuple[float, ...]
    seconds: float
    burst: NDArray[np.float64]
    seed: int

    def schedule(self, condition: Condition, load_qps: float) -> RateSchedule:
        """An even load, or the burst with its highest second at ``load_qps``."""
        return scaled(self.burst, load_qps) if condition.bursts else RateSchedule.constant(load_qps)

    def timeline(self, condition: Condition) -> Timeline:
        """Where a burst begins is when something changes."""
        timeline = Timeline.of(condition, self.seconds)
        return Timeline(timeline.duration_s, rise_s(self.burst), timeline.judged_s) if condition.bursts else timeline


@dataclass(frozen=True)
class Played:
    """The cases in the order of the loads, and what was said in all windows of the service."""

    cases: tuple[Case, ...]
    windows: WindowCounts


def play(system: System, condition: Condition, loads: Loads, dataset: Dataset, on_case: OnCase) -> Played:
    """Start a service, put it through every load in turn, and stop it. Raises RuntimeError where it does not start."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        stack.enter_context(Cores.of(condition).used())
        content = system.config(folder)
        service = stack.enter_context(running(content, folder, ENDPOINT, dataset.bodies[0]))
        sender = stack.enter_context(sending(service, ENDPOINT, dataset))
        alone_s = loop_s()
        if condition.neighbour:  # what it takes of the machine is the condition, and no reason to send less
            stack.enter_context(neighbour(NEIGHBOUR_SHARE))
        watch = stack.enter_context(StatusWatch(service.url))
        slo_ms = content["applications"][0]["args"]["endpoints"][ENDPOINT]["slo_ms"]
        cases: list[Case] = []
        sent: list[Queries] = []
        spans_s: list[tuple[float, float]] = []
        beside_s = before_s = loop_s()
        for number, share in enumerate(loads.shares):
            times, steady = 0, False
            while not steady and times < MOST_TIMES:
                speed_s = alone_s * before_s / beside_s if condition.neighbour else before_s
                load_qps = share * loads.highest.now_qps(speed_s)
                began_s, queries = _send(service, sender, condition, loads, load_qps, loads.seed + number)
                sent.append(queries)
                spans_s += [(began_s + a, began_s + b) for a, b in loads.timeline(condition).judged_s]
                sleep(PAUSE_S)
                after_s = loop_s()
                speed, change = 2.0 * loads.highest.loop_s / (before_s + after_s), after_s / before_s
                before_s, times, steady = after_s, times + 1, 1.0 / STEADY <= change <= STEADY
            case = judge(
                (condition.name, system.name, share),
                load_qps,
                loads.timeline(condition),
                began_s,
                queries,
                watch.snapshots,
                endpoint=ENDPOINT,
                slo_ms=slo_ms,
                lag_p99_ms=float(np.percentile(queries.lag_ms, 99)),
                machine_speed=speed,
                times_played=times,
            )
            on_case(case)
            cases.append(case)
    return Played(tuple(cases), count_windows(watch.snapshots, ENDPOINT, Queries.joined(sent), spans_s))


def _send(
    service: Service, sender: Sender, condition: Condition, loads: Loads, load_qps: float, seed: int
) -> tuple[float, Queries]:
    """When the load began, and what came back of it; the workers are slow until then."""
    timeline = loads.timeline(condition)
    load = soon(loads.schedule(condition, load_qps), timeline.duration_s, seed)
    with ExitStack() as stack:
        if condition.slower > 1.0:
            pids = service.workers("accord", "cpu")
            stack.enter_context(brake(pids, condition.slower, load.begin_s + timeline.change_s))
        sender.begin(load)
        queries = sender.finish()
    return load.begin_s, queries
