"""How long plans take to solve for, and how close to the best they are proven to be.

``python -m benchmarks.solver --json``. Three cases: the cluster of the Proteus paper with all variants of a profile
file, at demands from little to all that can be served; and two made-up clusters at the sizes that the paper's
figure 10 ends at and far beyond. Seconds are of `ProteusPlanner.plan` as a whole, with its workers and its words;
``paper_s`` is what the paper reports for the same, with a commercial solver. ``with_headroom`` is the planner as it
serves, which looks for room that costs next to no accuracy on top of the program.

``python -m benchmarks.solver --ipa --json`` has IPA's program in their place: `benchmarks.solver.ipa_grid`. With
``--instance FILE`` one instance of it is solved; see docs/ipa-planner.md.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import yaml
from rich.console import Console
from rich.progress import track

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import NoPlan, SolveReport
from autoscaler.planners.ipa import solver as ipa
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from benchmarks.machine import with_machine
from benchmarks.proteus.saturation import saturation_qps
from benchmarks.proteus.synthetic import synthetic
from benchmarks.proteus.testbed import SLO_RULES, Testbed, zipf
from benchmarks.solver.instance_file import read_instance, written
from benchmarks.solver.ipa_grid import decision_times
from catalog.errors import ConfigError
from dispatch.worker_info import workers_of

PROFILES_FILE = Path(__file__).parents[3] / "shared" / "data" / "proteus" / "profiles.csv"
TYPES = ("bert", "densenet", "efficientnet", "gpt2", "mobilenet", "resnest", "resnet", "t5", "yolo")
PAPER_CLUSTER = {"cpu": 20, "gpu_pascal": 10, "gpu_ampere": 10}
PAPER_S = {"paper_cluster": 4.2, "devices_160_variants_450": 60.0, "devices_10000_variants_1000": None}


def main() -> None:
    """Solve and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument("--ipa", action="store_true", help="IPA's program over stages x variants")
    parser.add_argument("--instances", type=_count, default=7, help="of each size with --ipa (default %(default)s)")
    parser.add_argument("--instance", type=Path, help="solve this instance of IPA's program, JSON")
    parser.add_argument(
        "--profiles",
        type=Path,
        default=PROFILES_FILE,
        help="variants of the paper's cluster, CSV (default %(default)s)",
    )
    parser.add_argument("--slo-multiple", type=float, default=2.0)
    parser.add_argument("--slo-rule", choices=SLO_RULES, default=SLO_RULES[0])
    parser.add_argument("--points", type=_count, default=50, help="demands of the first case (default %(default)s)")
    parser.add_argument("--solver", choices=("scip", "highs"), default="scip")
    args = parser.parse_args()
    if args.instance is not None:
        return _print(_solved(args.instance), args.json)
    if args.ipa:
        return _print(with_machine(decision_times(args.instances), times=("median_s", "max_s")), args.json)
    try:
        paper = Testbed.of(args.profiles, PAPER_CLUSTER, TYPES, args.slo_multiple, args.slo_rule)
    except ConfigError as error:
        sys.exit(str(error))
    few = max(args.points // 5, 1)
    cases = {
        "paper_cluster": _case("paper_cluster", paper, args.points, 1e-3, 5.0, args.solver),
        "devices_160_variants_450": _case(
            "devices_160_variants_450", synthetic(160, 450, 9, 3, seed=1), few, 1e-3, 0.7, args.solver
        ),
        "devices_10000_variants_1000": _case(
            "devices_10000_variants_1000", synthetic(10_000, 1_000, 50, 10, seed=1), few, 5e-3, 3.0, args.solver
        ),
    }
    body = with_machine(
        {"solver": args.solver, "cases": cases},
        times=("median_s", "max_s", "with_headroom_median_s", "with_headroom_max_s"),
    )
    _print(body, args.json)


def _print(body: Mapping[str, Any], as_json: bool) -> None:
    print(orjson.dumps(body).decode() if as_json else yaml.safe_dump(body, sort_keys=False))


def _solved(path: Path) -> dict[str, Any]:
    """The plan of an instance; ends with what is wrong with a file that holds none."""
    try:
        instance = read_instance(path)
        return written(instance, ipa.solve(instance.pipelines, instance.options, instance.workers))
    except ConfigError as error:
        sys.exit(str(error))


def _case(name: str, testbed: Testbed, points: int, gap: float, limit_s: float, solver: str) -> dict[str, Any]:
    """The program at demands from a little to what can be served, and the same with room for bursts on top."""
    mix = zipf([endpoint.name for endpoint in testbed.cluster.endpoints])
    most_qps = saturation_qps(testbed, mix)
    demands = [{name: share * qps for name, share in mix.items()} for qps in np.linspace(0.02, 1.0, points) * most_qps]
    seconds, reports = _solve(
        name, testbed, demands, ProteusOptions(gap=gap, limit_s=limit_s, solver=solver, tolerance=0.0, room_down_to=1.0)
    )
    with_headroom_s, _ = _solve(
        f"{name} with room", testbed, demands, ProteusOptions(gap=gap, limit_s=limit_s, solver=solver)
    )
    gaps = [report.gap if report.gap is not None else inf for report in reports]
    statuses = [report.status.value for report in reports]
    return {
        "median_s": statistics.median(seconds),
        "max_s": max(seconds),
        "max_gap": _proven(max(gaps)),
        "median_gap": _proven(statistics.median(gaps)),
        "statuses": {status: statuses.count(status) for status in sorted(set(statuses))},
        "paper_s": PAPER_S[name],
        "with_headroom_median_s": statistics.median(with_headroom_s),
        "with_headroom_max_s": max(with_headroom_s),
        "demands": points,
        "saturation_qps": most_qps,
    }


def _solve(
    title: str, testbed: Testbed, demands: Sequence[Mapping[str, float]], options: ProteusOptions
) -> tuple[list[float], list[SolveReport]]:
    """Seconds and reports, one plan after another, each with the workers as the one before left them."""
    planner = ProteusPlanner(testbed.cluster, options)
    console = Console(stderr=True)
    held: Mapping[str, frozenset[str]] = {}
    seconds, reports = [], []
    for demand_qps in track(demands, title, console=console, disable=not console.is_terminal):
        begun_s = time.perf_counter()
        plan = planner.plan(Observation(0.0, demand_qps, workers_of(testbed.workers), held))
        seconds.append(time.perf_counter() - begun_s)
        reports.append(plan.report)
        held = held if isinstance(plan, NoPlan) else plan.held
    return seconds, reports


def _proven(gap: float) -> float | None:
    """None where nothing is proven."""
    return gap if isfinite(gap) else None


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


if __name__ == "__main__":
    main()
