"""A trace through a system in the simulator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoscaler.demand.demand import MovingMaximum
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.placement.serving import serving_plan
from benchmarks.proteus.systems import Loads, System
from benchmarks.proteus.testbed import Testbed
from simulator.control_path import ControlPath, ControlTimes, PlanChange
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.metrics import WINDOW_S
from simulator.record import Record

Floats = NDArray[np.float64]

REPORT_S = 0.5
"""How often the data path reports to the control path."""

MAX_QUEUED_ROWS = 10**6
"""More than a trace has at once: queries leave by their deadlines."""


@dataclass(frozen=True)
class Played:
    """What came out, and which plans were in force when."""

    record: Record
    changes: Sequence[PlanChange]


def play(
    system: System,
    testbed: Testbed,
    arrivals_s: Mapping[str, Floats],
    load_s: float,
    *,
    make_before_break: bool = True,
) -> Played:
    """Serve the arrivals; workers need ``load_s`` for a variant that they do not hold.

    With ``make_before_break`` they go on with the old one meanwhile.
    """
    times = ControlTimes(REPORT_S, system.solve_s, load_s, make_before_break)
    loop = ControlLoop(system.interval_s, MovingMaximum(), system.trigger, system.initial)
    control = ControlPath(
        loop,
        system.planner,
        lambda plan, version: serving_plan(
            system.cluster,
            plan,
            testbed.workers,
            version,
            system.batching,
            drop_late=system.drop_late,
            max_queued_rows=MAX_QUEUED_ROWS,
        ),
        testbed.workers,
        times,
    )
    host = Host(control.plan, testbed.workers, PlannedLatency(*testbed.cluster.endpoints), control)
    return Played(host.run(arrivals_s), control.changes)


def loads_of(arrivals_s: Mapping[str, Floats]) -> Loads:
    """Rates at the beginning, over all, and in the busiest window; a shorter trace is one window."""
    everything = np.concatenate(list(arrivals_s.values()))
    duration_s = max(float(everything.max()), 1e-3)
    window_s = min(WINDOW_S, duration_s * (1 + 1e-9))
    busiest = int(np.bincount((everything // window_s).astype(np.intp)).argmax())

    def rate(of: Floats, start_s: float, length_s: float) -> float:
        return float(np.count_nonzero((of >= start_s) & (of < start_s + length_s))) / length_s

    return Loads(
        {name: rate(of, 0.0, window_s) for name, of in arrivals_s.items()},
        {name: len(of) / duration_s for name, of in arrivals_s.items()},
        {name: rate(of, busiest * window_s, window_s) for name, of in arrivals_s.items()},
    )
