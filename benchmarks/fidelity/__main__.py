"""Live against simulated: accuracy and violations of the quickstart beside the simulator's, and beside the bounds.

``python -m benchmarks.fidelity --json``. Starts ``accord run configs/quickstart.yaml``, sends Poisson arrivals at three
rates (shares of what the worker could bear by the profiles measured on this machine), and plays the same arrivals
through the simulator with the same plan: run times drawn from mean and spread of the profile, and the transport that
the router measured in that very run.

A query violates its objective where the router says so, as in the simulator, or where it got an error; what clients
see on top, the way to the router and back, is given beside it. Accuracy is the mean measured accuracy of the variants
that answered in time, not the share of right answers, so that the luck of the test set does not enter. The bounds are
those of the decision tables in force during the run, weighted by the queries that each decided on.
"""

import argparse
import sys
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.machine import with_machine
from catalog.catalogue import load_catalogue
from dispatch.latency.estimator import LatencyEstimator
from dispatch.selection.ramsis.tables.grid import fluid_capacity_qps
from serve_app.build.assemble import assemble
from serve_app.build.candidates import Profiles
from serve_app.build.profiles import profiles_for
from serve_app.build.tables import grids_for, problems_for
from serve_app.cli.config_file import ServeFile, read_serve_file
from serve_app.cli.drive import allow_open_files, drive, run_loop
from serve_app.loadgen.client import OpenLoopClient
from serve_app.loadgen.dataset import Dataset, load_dataset
from serve_app.loadgen.record import Record, Run
from serve_app.testing.served import served
from simulator.host import Host
from simulator.latency import SampledLatency
from simulator.reporting.report import Report
from workload.arrivals import ArrivalOptions, create

CONFIG = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
ENDPOINT = "digits"

SHARES = {"light": 0.005, "medium": 0.05, "near saturation": 0.15}
"""Of the load that the worker bears with every batch full. Beyond the last, client and proxy use two cores up."""

DURATION_S = 60.0
WARM_UP_S = 12.0
"""The router's figures cover the last minute or a little more; what is before the run is of the same rate."""

TIMEOUT_S = 10.0
SEED = 1


@dataclass(frozen=True)
class Outcome:
    """Percentages from 0 to 100; None where nothing was answered in time."""

    accuracy_pct: float | None
    violation_pct: float | None


@dataclass(frozen=True)
class Noise:
    """What a busy machine adds: the generator's own lag, and violations as clients see them."""

    client_violation_pct: float
    generator_lag_p99_ms: float
    transport_ms: dict[str, float]


@dataclass(frozen=True)
class Point:
    """One rate: what happened, what the simulator says, and the bounds of the tables in force."""

    name: str
    rate_qps: float
    queries: int
    live: Outcome
    simulated: Outcome
    expected: Outcome
    noise: Noise


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    as_json = parser.parse_args().json
    file = read_serve_file(CONFIG)
    catalogue = load_catalogue(file.app.catalogue)
    dataset = load_dataset("test", None)
    port = int(file.url.rpartition(":")[2])
    command = [sys.executable, "-m", "serve_app.cli.main", "run", str(CONFIG)]
    allow_open_files()
    with served(command, {}, port, f"/v2/models/{ENDPOINT}/infer", dataset.bodies[0]):
        profiles = profiles_for(file.app, catalogue)  # as the service has just measured or kept them
        capacity_qps = fluid_capacity_qps(problems_for(file.app, catalogue, profiles)[ENDPOINT]["cpu"])
        points = [
            _point(name, round(share * capacity_qps, 1), file, dataset, profiles) for name, share in SHARES.items()
        ]
    body = with_machine({"capacity_qps": capacity_qps, "rates": [asdict(point) for point in points]})
    print(orjson.dumps(body).decode() if as_json else _table(points))


def _point(name: str, rate_qps: float, file: ServeFile, dataset: Dataset, profiles: Profiles) -> Point:
    run = _load(file.url, rate_qps, dataset)
    status = _status(file.url)
    arrivals_s = np.sort([record.sent_s for record in run.records])
    measured = [record for record in run.records if record.intended_s >= WARM_UP_S]
    seen = status["guarantee"]
    slo_ms = file.app.endpoints[ENDPOINT].slo_ms
    late = [record.error is not None or record.latency_ms > slo_ms for record in measured]
    noise = Noise(
        100.0 * float(np.mean(late)),
        float(np.percentile([record.lag_ms for record in measured], 99)),
        status["transport_ms"],
    )
    bounds = [seen[f"expected_{what}"] for what in ("accuracy", "violation_rate")]
    expected = Outcome(*(None if bound is None else 100.0 * bound for bound in bounds))
    simulated = simulate(file, profiles, arrivals_s, status["transport_ms"]["mean"] / 1e3)
    return Point(name, rate_qps, len(measured), live_outcome(measured), simulated, expected, noise)


def _load(url: str, rate_qps: float, dataset: Dataset) -> Run:
    duration_s = WARM_UP_S + DURATION_S
    times_s = create("poisson", ArrivalOptions(f"{rate_qps}", seed=SEED)).times_s(duration_s)
    client = OpenLoopClient(f"{url}/v2/models/{ENDPOINT}/infer", dataset, TIMEOUT_S)
    return run_loop(drive(client, times_s, duration_s))


def _status(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/accord/status", timeout=TIMEOUT_S) as response:
        status: dict[str, Any] = orjson.loads(response.read())["endpoints"][ENDPOINT]
    return status


def live_outcome(records: list[Record]) -> Outcome:
    """As the router saw it: the variants' accuracy over queries in time, and the share of those late or refused."""
    in_time = [record for record in records if record.error is None and record.deadline_met]
    accuracies = [record.expected_accuracy for record in in_time if record.expected_accuracy is not None]
    accuracy_pct = 100.0 * float(np.mean(accuracies)) if accuracies else None
    return Outcome(accuracy_pct, 100.0 * (1.0 - len(in_time) / len(records)) if records else None)


def simulate(file: ServeFile, profiles: Profiles, arrivals_s: NDArray[np.float64], transport_s: float) -> Outcome:
    """The same plan and arrivals in virtual time, with a router's estimates."""
    catalogue = load_catalogue(file.app.catalogue)
    plan = assemble(file.app, catalogue, profiles, grids_for(file.app, catalogue, profiles)).plan
    workers = {f"{name}-{index}": pool.device for name, pool in file.app.pools.items() for index in range(pool.workers)}
    latency = SampledLatency(profiles, transport_s, np.random.default_rng(SEED))
    record = Host(plan, workers, latency, estimator=LatencyEstimator(transport_s)).run({ENDPOINT: arrivals_s})
    report = Report.of(record, interval_s=DURATION_S).endpoints[ENDPOINT]
    return Outcome(report.accuracy_pct, report.violation_pct)


def _table(points: list[Point]) -> str:
    lines = ["rate/s   | live acc  viol   | simulated acc  viol | expected acc >=  viol <="]
    for point in points:
        cells = [
            f"{outcome.accuracy_pct or 0:9.2f} {outcome.violation_pct or 0:6.2f}"
            for outcome in (point.live, point.simulated, point.expected)
        ]
        lines.append(f"{point.rate_qps:8.1f} | {' | '.join(cells)}   ({point.name})")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
