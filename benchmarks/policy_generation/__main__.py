"""How long decision tables take to make: the cases of the RAMSIS paper's table 2, and our own formulation.

``python -m benchmarks.policy_generation --json``. ``seconds`` is the median over repeats in one process with one
thread, without the cache. All variants on the Pareto front enter, and those that miss the objective with a batch of one
are left out by the problem itself (``variants_in_time`` remain). The larger set lies on straight lines between
neighbours on the front, every 0.5 points of accuracy (section 7.3.2). ``by_load`` is our formulation from light load to
more than the workers can bear: seconds by share of the fluid capacity, once each.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import orjson
import yaml
from threadpoolctl import threadpool_limits

from benchmarks.arguments import positive, whole
from benchmarks.machine import with_machine
from benchmarks.ramsis.task import PROFILES_FILE, read_front
from catalog.errors import ConfigError
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.problem import Batching, Formulation, WorkerProblem
from dispatch.selection.ramsis.solver import solve
from dispatch.selection.ramsis.tables.grid import fluid_capacity_qps

STEP = 0.005
"""Accuracy between interpolated variants."""


@dataclass(frozen=True)
class Case:
    """One kind of table; ``slack_steps`` of 0 is the model-based discretisation."""

    many_variants: bool = False
    workers: int = 60
    slack_steps: int = 100
    batching: Batching = "maximal"
    formulation: Formulation = "per_decision"


CASES = {
    "fld100_9_variants_60_workers": Case(),
    "fld100_60_variants_100_workers": Case(many_variants=True, workers=100),
    "md_9_variants_60_workers": Case(slack_steps=0),
    "variable_batching_9_variants_60_workers": Case(batching="variable"),
    "per_query_9_variants_60_workers": Case(formulation="per_query"),
}


@dataclass(frozen=True)
class Service:
    """What a live service may have tables made for: workers with flat profiles, or with the larger set of variants."""

    workers: int
    slo_ms: float
    flat_ms: tuple[float, ...] = ()  # time of any batch, by variant; none for the larger set
    most_rows: int = 64

    def problem(self, front: tuple[Candidate, ...]) -> WorkerProblem:
        """The problem of its workers; ``front`` is what the larger set is made of."""
        candidates = tuple(
            Candidate(f"flat{number}", 0.86 + 0.07 * number, (0.0, *[flat_ms / 1e3] * self.most_rows))
            for number, flat_ms in enumerate(self.flat_ms)
        )
        return WorkerProblem.of(candidates or tuple(interpolated(front)), self.slo_ms / 1e3, self.workers, Poisson(1.0))


SERVICES = {
    "flat_64_rows_2_workers_80_ms": Service(2, 80.0, (10.02, 10.05)),
    "flat_64_rows_2_workers_100_ms": Service(2, 100.0, (5.0, 20.0)),
    "flat_128_rows_8_workers_100_ms": Service(8, 100.0, (5.0, 20.0), most_rows=128),
    "60_variants_4_workers_100_ms": Service(4, 100.0),
    "60_variants_4_workers_500_ms": Service(4, 500.0),
}

SHARES_PCT = (1, 5, 15, 30, 50, 70, 85, 92, 100, 115, 130)


def main() -> None:
    """Make tables and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument(
        "--profiles",
        type=Path,
        default=PROFILES_FILE,
        help="accuracy and latency of the variants, CSV (default %(default)s)",
    )
    parser.add_argument("--slo-ms", type=positive, default=150.0)
    parser.add_argument(
        "--load-per-worker-qps", type=positive, default=40.0, help="load of a table (default 40 per worker)"
    )
    parser.add_argument("--repeats", type=whole, default=5)
    args = parser.parse_args()
    try:
        front = read_front(args.profiles)
    except ConfigError as error:
        sys.exit(str(error))
    cases = {}
    for name, case in CASES.items():
        candidates = tuple(interpolated(front)) if case.many_variants else front
        cases[name] = _figures(case, candidates, args.slo_ms / 1e3, args.load_per_worker_qps, args.repeats)
        print(f"{name}: {cases[name]}", file=sys.stderr, flush=True)
    by_load = {}
    for name, service in SERVICES.items():
        by_load[name] = _by_load(service.problem(front))
        print(f"{name}: {by_load[name]}", file=sys.stderr, flush=True)
    body = with_machine(
        {"slo_ms": args.slo_ms, "repeats": args.repeats, "cases": cases, "by_load": by_load}, times=("seconds",)
    )
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def interpolated(front: tuple[Candidate, ...]) -> Iterator[Candidate]:
    """The front, fastest first, and between neighbours a variant every `STEP` of accuracy above the lower one."""
    for low, high in pairwise(front):
        yield low
        gap = high.accuracy - low.accuracy
        for number in range(1, ceil(gap / STEP - 1e-9)):
            share = number * STEP / gap
            latency_s = (a + share * (b - a) for a, b in zip(low.latency_s, high.latency_s, strict=True))
            yield Candidate(f"{low.variant}+{number}", low.accuracy + number * STEP, tuple(latency_s))
    yield front[-1]


def _figures(
    case: Case, candidates: tuple[Candidate, ...], slo_s: float, load_per_worker_qps: float, repeats: int
) -> dict[str, Any]:
    load_qps = load_per_worker_qps * case.workers
    problem = WorkerProblem.of(
        candidates,
        slo_s,
        case.workers,
        Poisson(load_qps),
        case.formulation,
        batching=case.batching,
        slack_steps=case.slack_steps,
    )
    seconds = []
    with threadpool_limits(1):
        for _ in range(repeats):
            begun_s = time.perf_counter()
            table = solve(problem)
            seconds.append(time.perf_counter() - begun_s)
    return {
        "seconds": statistics.median(seconds),
        "expected_accuracy_pct": 100.0 * table.expected_accuracy,
        "expected_violation_pct": 100.0 * table.expected_violation_rate,
        "load_qps": load_qps,
        "variants": len(candidates),
        "variants_in_time": len(problem.variants),
        "slack_steps": len(table.slack_s),
        "group": table.group,
    }


def _by_load(problem: WorkerProblem) -> dict[str, Any]:
    fluid_qps = fluid_capacity_qps(problem)
    seconds, settled = {}, True
    with threadpool_limits(1):
        for share_pct in SHARES_PCT:
            begun_s = time.perf_counter()
            table = solve(problem.at_load(fluid_qps * share_pct / 100.0))
            seconds[f"{share_pct}%"] = round(time.perf_counter() - begun_s, 3)
            settled = settled and table.settled
    return {"fluid_capacity_qps": fluid_qps, "seconds": seconds, "settled": settled}


if __name__ == "__main__":
    main()
