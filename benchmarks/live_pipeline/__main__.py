"""A live pipeline under a load that doubles and falls, with the death of a worker of its middle stage on the way.

``python -m benchmarks.live_pipeline --json``. Starts `accord run` with configs/pipeline.yaml, whose pipeline the
controller plans (`planner: ipa`), and sends labelled strips with Poisson arrivals: a base load, twice that, the base
load again. In the middle a worker that holds what the middle stage runs is killed (SIGKILL). Latencies are the
client's, from the instant at which a query was to leave. Several rounds; ``p99_ms`` is the median of their 99th
percentiles, lost queries are summed up. A query is lost where it got no answer, or an error.
"""

import argparse
import os
import signal
import statistics
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import yaml
from rich.console import Console

from benchmarks.arguments import picture_file, positive, whole
from benchmarks.live_pipeline.figures import figures
from benchmarks.live_pipeline.picture import save_picture
from benchmarks.live_pipeline.scene import Phases, config, dataset, endpoint_of, victim
from benchmarks.machine import with_machine
from serve_app.testing.decisions import decisions
from serve_app.testing.service import Service, running, send, sending, soon
from serve_app.testing.status_watch import StatusWatch, look

ERR = Console(stderr=True)
WARM_S = 5.0
START_WITHIN_S = 180.0


def main() -> None:
    """Serve, load, kill and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument(
        "--rate", type=positive, default=15.0, help="base load, queries per second (default %(default)s)"
    )
    parser.add_argument("--phase-s", type=positive, default=20.0, help="length of each load (default %(default)s)")
    parser.add_argument("--slo-ms", type=positive, help="objective; default: that of the config")
    parser.add_argument("--rounds", type=whole, default=3, help="loads, one after the other (default %(default)s)")
    parser.add_argument("--port", type=int, help="to serve on; default: that of the config")
    parser.add_argument("--plot", type=picture_file, help="write a picture of the first round to this PNG file")
    args = parser.parse_args()
    content = config(args.slo_ms, args.port)
    rounds, first = _rounds(content, Phases(args.rate, args.phase_s), args.rounds)
    if args.plot is not None:
        save_picture(args.plot, *first)
    body = with_machine(_summed(rounds), times=("p50_ms", "p99_ms"))
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def _rounds(content: dict[str, Any], phases: Phases, rounds: int) -> tuple[list[dict[str, Any]], Any]:
    endpoint, slo_ms, stages = endpoint_of(content)
    middle = stages[len(stages) // 2]
    strips = dataset()
    found = []
    first: Any = None
    with (
        TemporaryDirectory() as folder,
        running(content, Path(folder), endpoint, strips.bodies[0], within_s=START_WITHIN_S) as service,
    ):
        ERR.print(f"Ready after {service.ready_s:.0f} s", highlight=False)
        with sending(service, endpoint, strips) as sender:
            send(sender, phases.base_qps, WARM_S, seed=100)
        for number in range(rounds):
            with sending(service, endpoint, strips) as sender, StatusWatch(service.url) as watch:
                load = soon(phases.schedule, phases.duration_s, seed=number)
                killed: list[str] = []
                errors: list[Exception] = []
                timer = threading.Timer(
                    load.begin_s + phases.kill_s - time.monotonic(),
                    _kill,
                    (service, endpoint, middle, killed, errors),
                )
                timer.start()
                began_at_s = time.time() + load.begin_s - time.monotonic()
                sender.begin(load)
                queries = sender.finish()
                timer.join()
            if errors:
                raise errors[0]
            made = decisions(service.url)
            found.append(
                figures(queries, phases, load.begin_s, began_at_s, slo_ms, made, watch.snapshots)
                | {"killed": killed[0], "killed_stage": middle}
            )
            if first is None:
                first = (queries, phases, load.begin_s, began_at_s, slo_ms, made)
            ERR.print(f"Round {number + 1}: {_in_words(found[-1])}", highlight=False)
    return found, first


def _kill(service: Service, endpoint: str, stage: str, killed: list[str], errors: list[Exception]) -> None:
    try:
        worker, pid = victim(look(service.url), endpoint, stage)
        os.kill(pid, signal.SIGKILL)
        killed.append(worker)
    except Exception as error:  # told to whoever waits for this thread
        errors.append(error)


def _summed(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    p99_ms = _median(rounds, "p99_ms")
    slo_ms = rounds[0]["slo_ms"]
    lost = sum(each["lost_queries"] for each in rounds)
    goals = {"p99_within_slo": p99_ms is not None and p99_ms <= slo_ms, "none_lost": lost == 0}
    return {
        "p50_ms": _median(rounds, "p50_ms"),
        "p99_ms": p99_ms,
        "slo_ms": slo_ms,
        "queries": sum(each["queries"] for each in rounds),
        "lost_queries": lost,
        "late_queries": sum(each["late_queries"] for each in rounds),
        "accuracy": _median(rounds, "accuracy"),
        "expected_accuracy": _median(rounds, "expected_accuracy"),
        "plan_changes": sum(each["plan_changes"] for each in rounds),
        "goals": goals,
        "goals_met": all(goals.values()),
        "rounds": list(rounds),
    }


def _median(rounds: Sequence[dict[str, Any]], name: str) -> float | None:
    """Over rounds; None where one of them has none, for nothing was answered in it."""
    values = [each[name] for each in rounds]
    return None if None in values else statistics.median(values)


def _in_words(figures: dict[str, Any]) -> str:
    if figures["p99_ms"] is None:
        return f"all {figures['queries']} lost"
    return (
        f"{figures['lost_queries']} of {figures['queries']} lost, p99 {figures['p99_ms']:.0f} of "
        f"{figures['slo_ms']:.0f} ms, {100 * figures['accuracy']:.1f}% right, {figures['plan_changes']} plan changes"
    )


if __name__ == "__main__":
    main()
