"""Violations of three batching policies under even, Poisson and bursty arrivals at equal load.

``python -m benchmarks.batching --json``. One worker with one variant, in simulation: Proteus's adaptive batching,
Nexus's early drop and Clipper's additive increase and multiplicative decrease, where what has expired is dropped. A
batch of n rows takes half the objective, times 1 - s + s n / b for a largest batch of b rows: the ``flat`` profile
(s = 0.05), where a single row takes nearly as long as a full batch, as on a GPU, ``affine`` (0.7), and ``linear`` (1).
Loads are relative to the worker's capacity, full batches one after another. ``arrivals`` has the ratio of queries that
were late or refused on the flat profile, as medians over seeds, ``sweep`` the same over profiles and loads;
``clipper_timeouts`` is Clipper with a limit that shrinks when a query waited too long, not only when a batch ran too
long.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import orjson
from rich.console import Console
from rich.table import Table

from benchmarks.machine import with_machine
from deployments.processes import processes
from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.aimd import AdditiveIncrease
from dispatch.batching.nexus import EarlyDrop
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.policy import Candidate, SelectionPolicy
from simulator.host import Host
from simulator.latency import PlannedLatency
from workload.rate import RateSchedule
from workload.renewal import Gamma, Poisson, Uniform

ENDPOINT, DEVICE, WORKER, VARIANT = "images", "gpu", "w1", "only"
OBJECTIVE_S = 0.2
LARGEST_BATCH = 16
GAMMA_SHAPE = 0.05

PROFILES = {"flat": 0.05, "affine": 0.7, "linear": 1.0}
"""The share of a full batch's time that grows with its rows."""

ARRIVALS = ("uniform", "poisson", "gamma")
POLICIES: Mapping[str, SelectionPolicy] = {
    "proteus": AdaptiveBatching(),
    "nexus": EarlyDrop(),
    "clipper": AdditiveIncrease(),
    "clipper_timeouts": AdditiveIncrease(on_timeouts=True),
}
COMPARED = ("proteus", "nexus", "clipper")

HEADLINE = ("flat", 0.4)
"""Profile and load of the figures under ``arrivals``: the load at which Poisson arrivals begin to fill batches."""

HEADLINE_QUERIES, HEADLINE_SEEDS = 200_000, 5
SWEEP_LOADS = (0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
SWEEP_QUERIES, SWEEP_SEEDS = 20_000, 3


@dataclass(frozen=True)
class Case:
    """``queries`` arrivals, about, at a load on a profile."""

    profile: str
    arrivals: str
    load: float
    queries: int


@dataclass(frozen=True)
class Run:
    """One policy on one case under one seed; can be sent to another process."""

    case: Case
    policy: str
    seed: int

    def __call__(self) -> float:
        """The ratio of queries in violation."""
        case = self.case
        candidate = _candidate(PROFILES[case.profile])
        plan = EndpointPlan.of_stage(
            ENDPOINT,
            StagePlan({DEVICE: (candidate,)}, POLICIES[self.policy], None),
            slo_s=OBJECTIVE_S,
            drop_late=True,
            max_queued_rows=sys.maxsize,
        )
        load_qps = case.load * LARGEST_BATCH / candidate.latency_s[LARGEST_BATCH]
        schedule = RateSchedule.constant(load_qps)
        sources: dict[str, Uniform | Poisson | Gamma] = {
            "uniform": Uniform(schedule),
            "poisson": Poisson(schedule, self.seed),
            "gamma": Gamma(schedule, GAMMA_SHAPE, self.seed),
        }
        arrivals_s = sources[case.arrivals].times_s(case.queries / load_qps)
        host = Host(Plan(1, {ENDPOINT: plan}), {WORKER: DEVICE}, PlannedLatency(plan))
        record = host.run({ENDPOINT: arrivals_s})
        return float(np.mean(record.done_s > record.deadline_s))


def main() -> None:
    """Play all cases and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object last")
    args = parser.parse_args()
    profile, load = HEADLINE
    headline = [Case(profile, arrivals, load, HEADLINE_QUERIES) for arrivals in ARRIVALS]
    sweep = [
        Case(profile, arrivals, load, SWEEP_QUERIES)
        for profile in PROFILES
        for arrivals in ARRIVALS[1:]
        for load in SWEEP_LOADS
    ]
    with processes() as executor:
        compared = play(headline, COMPARED, HEADLINE_SEEDS, executor)
        swept = play(sweep, tuple(POLICIES), SWEEP_SEEDS, executor)
    if args.json:
        print(orjson.dumps(with_machine(_as_json(compared, swept))).decode())
    else:
        for title, ratios in (("headline", compared), ("sweep", swept)):
            Console().print(_as_table(title, ratios))


def play(
    cases: Sequence[Case], policies: Sequence[str], seeds: int, executor: Executor
) -> dict[Case, dict[str, float]]:
    """The median ratio in violation of each case, by policy; all policies meet the same arrivals."""
    runs = {
        (case, policy): [executor.submit(Run(case, policy, seed)) for seed in range(1, seeds + 1)]
        for case in cases
        for policy in policies
    }
    return {case: {policy: median(run.result() for run in runs[case, policy]) for policy in policies} for case in cases}


def _candidate(growing: float) -> Candidate:
    """The variant: its full batch takes half the objective, so that a query may wait for the batch before its own."""
    full_s = OBJECTIVE_S / 2
    rows = range(1, LARGEST_BATCH + 1)
    return Candidate(VARIANT, 1.0, (0.0, *(full_s * (1 - growing + growing * n / LARGEST_BATCH) for n in rows)))


def _as_json(compared: Mapping[Case, Mapping[str, float]], swept: Mapping[Case, Mapping[str, float]]) -> dict[str, Any]:
    profile, load = HEADLINE
    return {
        "profile": profile,
        "load": load,
        "objective_ms": OBJECTIVE_S * 1e3,
        "largest_batch": LARGEST_BATCH,
        "arrivals": {case.arrivals: ratios for case, ratios in compared.items()},
        "sweep": [
            {"profile": case.profile, "arrivals": case.arrivals, "load": case.load, **ratios}
            for case, ratios in swept.items()
        ],
    }


def _as_table(title: str, ratios: Mapping[Case, Mapping[str, float]]) -> Table:
    """Percent in violation, one row per case."""
    policies = tuple(next(iter(ratios.values())))
    table = Table(*("profile", "arrivals", "load", *policies), title=f"violations in percent: {title}")
    for case, of in ratios.items():
        figures = [f"{100 * of[policy]:.3f}" for policy in policies]
        table.add_row(case.profile, case.arrivals, f"{case.load:g}", *figures)
    return table


if __name__ == "__main__":
    main()
