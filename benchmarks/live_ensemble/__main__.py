"""What becomes of a live ensemble when a member dies (Cocktail, section 6.3.2).

``python -m benchmarks.live_ensemble --json --sst2-test FILE``. Starts `accord run` with the most accurate variants of
task sentiment, a worker for each; sends the labelled texts at an even rate; kills the worker of one member (SIGKILL) in
the middle, and goes on. The member is the most accurate one unless named. ``recovered_s`` is the time from then until a
new worker's vote counts. ``accuracy_loss_points`` compares the answers without that member with the vote of all members
on the same texts. Several rounds; figures are medians but for ``failed_queries``, which are summed up.
"""

import argparse
import os
import signal
import statistics
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import yaml
from rich.console import Console

from benchmarks.arguments import positive, whole
from benchmarks.ensemble.cases import SST2_TEST
from benchmarks.live_ensemble.outage import figures
from benchmarks.live_ensemble.plan import ENDPOINT, Ensemble, plan
from benchmarks.machine import with_machine
from catalog.errors import AccordError
from serve_app.testing.service import Service, running, send, sending, soon
from workload.rate import RateSchedule

ERR = Console(stderr=True)
LOSS_POINTS = 0.6
"""The paper's."""
WARM_QUERIES_S = 3.0
START_WITHIN_S = 300.0


def main() -> None:
    """Serve, kill and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument("--sst2-test", type=Path, default=SST2_TEST, help="labelled texts, TSV (default %(default)s)")
    parser.add_argument("--members", type=whole, default=5, help="variants that vote (default %(default)s)")
    parser.add_argument("--rate", type=positive, default=20.0, help="queries per second (default %(default)s)")
    parser.add_argument("--seconds", type=positive, default=45.0, help="of load in a round (default %(default)s)")
    parser.add_argument("--slo-ms", type=positive, default=400.0, help="objective (default %(default)s)")
    parser.add_argument("--rounds", type=whole, default=3, help="members killed, one after the other")
    parser.add_argument("--kill", help="the member whose worker is killed; default: the most accurate")
    args = parser.parse_args()
    try:
        ensemble = plan(args.sst2_test, args.members)
    except AccordError as error:
        sys.exit(str(error))
    victim = args.kill or ensemble.members[0]
    if victim not in ensemble.members:
        parser.error(f"--kill {victim!r} is none of the members, which are {', '.join(ensemble.members)}")
    body = with_machine(_summed(_rounds(ensemble, victim, args), ensemble))
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def _rounds(ensemble: Ensemble, victim: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    dataset = ensemble.dataset()
    found = []
    with TemporaryDirectory() as folder:
        config = ensemble.config(args.slo_ms)
        with running(config, Path(folder), ENDPOINT, dataset.bodies[0], within_s=START_WITHIN_S) as service:
            ERR.print(f"Ready after {service.ready_s:.0f} s with {len(ensemble.members)} members", highlight=False)
            with sending(service, ENDPOINT, dataset) as sender:
                send(sender, args.rate, WARM_QUERIES_S, seed=1)
            for number in range(args.rounds):
                found.append(_round(ensemble, service, victim, args.rate, args.seconds, number))
                ERR.print(f"Round {number + 1}: {_in_words(found[-1])}", highlight=False)
    return found


def _round(
    ensemble: Ensemble, service: Service, victim: str, rate_qps: float, seconds: float, number: int
) -> dict[str, Any]:
    """One load, with the death of the victim's worker after a third of it."""
    with sending(service, ENDPOINT, ensemble.dataset()) as sender:
        load = soon(RateSchedule.constant(rate_qps), seconds, seed=number)
        killed: list[float] = []

        def kill() -> None:
            (pid,) = service.workers("accord", victim)
            killed.append(time.monotonic())
            os.kill(pid, signal.SIGKILL)

        timer = threading.Timer(load.begin_s + seconds / 3.0 - time.monotonic(), kill)
        timer.start()
        sender.begin(load)
        queries = sender.finish()
        timer.join()
    if not killed:
        raise RuntimeError(f"the worker of {victim} was not there to be killed")
    return figures(ensemble, queries, victim, killed[0])


def _summed(rounds: list[dict[str, Any]], ensemble: Ensemble) -> dict[str, Any]:
    failed = sum(each["failed_queries"] for each in rounds)
    recovered = [each["recovered_s"] for each in rounds if each["recovered_s"] is not None]
    during = sum(each["during_outage"]["queries"] for each in rounds)
    lost = sum((each["accuracy_loss_points"] or 0.0) * each["during_outage"]["queries"] for each in rounds)
    loss = lost / during if during else None
    goals = {
        "no_failed_query": failed == 0,
        "accuracy_loss": loss is not None and loss <= LOSS_POINTS,
        "recovered_every_time": len(recovered) == len(rounds),
        "live_accuracy_is_offline": all(each["live_within_offline_interval"] for each in rounds),
    }
    return {
        "members": list(ensemble.members),
        "failed_queries": failed,
        "accuracy_loss_points": loss,
        "queries_during_outages": during,
        "recovered_s": statistics.median(recovered) if recovered else None,
        "goals": goals,
        "goals_met": all(goals.values()),
        "rounds": rounds,
    }


def _in_words(figures: dict[str, Any]) -> str:
    recovered = figures["recovered_s"]
    back = "never" if recovered is None else f"after {recovered:.1f} s"
    loss = figures["accuracy_loss_points"]
    lost = "no query answered meanwhile" if loss is None else f"{loss:.2f} points lost meanwhile"
    return f"{figures['failed_queries']} of {figures['queries']} failed, back {back}, {lost}"


if __name__ == "__main__":
    main()
