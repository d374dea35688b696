"""A long load with faults at random.

``python -m benchmarks.soak --json``, or ``make soak``: a service with two workers and two routers gets 70% of the load
that it carries, for half an hour, while workers, routers, controllers and the proxy are killed, hang, get slow or run
out of memory, in an order drawn with ``--seed``. No query may stay without an answer, no process that lives through it
may grow by more than 5% after its first four minutes or keep files open. What only watches the cluster (Ray's
dashboard, its agents, its log monitor) is not ours, and no query passes it: ``processes`` has its figures too, and
``observers_that_grew`` its names, but goals are without it. Report and picture are in ``--results``.
"""

import argparse
import threading
import time
from pathlib import Path
from typing import Any

import orjson
import yaml

from benchmarks.machine import with_machine
from benchmarks.soak.faults import RandomFaults
from benchmarks.soak.growth import GrowthWatch, judged_s
from benchmarks.soak.picture import save_picture
from chaos.actions.load import begin_load
from chaos.probes.load import in_time_share, outcome
from chaos.probes.service import ready
from chaos.services.start import Choice
from chaos.trial import trial
from serve_app.testing.repeatedly import Repeatedly

SERVICE = "digits-two-routers"
SHARE = 0.7
LOOK_EVERY_S = 5.0
CALM_S = 20.0
"""Before the end no more faults begin, so that what is left over can be seen."""


def main() -> None:
    """Soak and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument("--seconds", type=float, default=1800.0, help="length of the load (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the faults (default %(default)s)")
    parser.add_argument("--results", type=Path, default=Path("bench-results/soak"), help="default %(default)s")
    args = parser.parse_args()
    body = with_machine(soak(args.seconds, args.seed, args.results))
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def soak(seconds: float, seed: int, results: Path) -> dict[str, Any]:
    """Run it; the JSON object is in the folder ``results`` too."""
    faults = RandomFaults(seed)
    ending = threading.Timer(max(0.0, seconds - CALM_S), faults.over.set)
    ending.daemon = True
    try:
        watch = GrowthWatch(trial.begin(Choice(SERVICE)).bench.service.processes)
        begin_s = time.monotonic()
        begin_load(SHARE, seconds)
        worker = threading.Thread(target=faults.run, daemon=True)
        with Repeatedly(watch.look, LOOK_EVERY_S):
            worker.start()
            ending.start()
            figures = outcome()
            ending.join()
            worker.join()
        grown = watch.figures(*judged_s(seconds))
        body = judged(figures, faults, grown) | {
            "largest_processes": watch.largest(begin_s),
            "in_time_afterwards": in_time_share(),
            "ready_afterwards": ready(),
        }
    finally:
        ending.cancel()
        faults.over.set()
        trial.end()
    results.mkdir(parents=True, exist_ok=True)
    save_picture(results / "picture.png", figures, watch.series(begin_s))
    (results / "soak.json").write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))
    return body


def judged(figures: dict[str, Any], faults: RandomFaults, grown: list[dict[str, Any]]) -> dict[str, Any]:
    """The JSON object of what the load was told, the faults that were made, and what processes took.

    A goal of which nothing was measured, as in a few seconds, is missed.
    """
    told = {name: value for name, value in figures.items() if name not in ("series", "marks")}
    own = [each for each in grown if not each["only_watches"]]
    goals = {
        "no_stuck_query": figures["unanswered"] == 0 and figures["duplicated"] == 0,
        "no_memory_growth": bool(own) and not any(each["grew"] for each in own),
        "no_descriptor_leak": bool(own) and not any(each["leaked_files"] for each in own),
        "whole_after_every_fault": bool(faults.done) and not faults.not_restored,
    }
    return {
        **told,
        "faults": dict(faults.done),
        "not_restored": faults.not_restored,
        "processes": grown,
        "observers_that_grew": sorted(
            {each["process"] for each in grown if each["only_watches"] and (each["grew"] or each["leaked_files"])}
        ),
        "goals": goals,
        "goals_met": all(goals.values()),
    }


if __name__ == "__main__":
    main()
