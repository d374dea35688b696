"""What becomes of queries when parts of a running service die, hang or are starved.

``python -m benchmarks.chaos --json``. Runs every experiment of ``chaos/experiments`` (docs/reliability.md) on real
services on this machine, under an open-loop load that is a share of what the service carried just before. Experiments
that need the same service share one. ``goals`` are the tolerances of each experiment's hypothesis, all of them held to
its figures; an experiment that this machine cannot run is skipped with the reason. Journal, report and picture of each
are in ``--results``.
"""

import argparse
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import yaml
from rich.console import Console

from benchmarks.machine import with_machine
from catalog.errors import ConfigError
from chaos.experiment import SETTLED_WITHIN_S, Experiment, by_service, experiment, experiments, settled, shared_service
from chaos.report.goals import goals
from chaos.report.journal import Journal
from chaos.report.summary import summary
from serve_app.testing.served import TOLD_TO_END

ERR = Console(stderr=True)
KILL_S = 600.0
"""Cocktail kills for ten minutes (section 6.3.2)."""

REST_S = 30.0
"""The load goes on for so long beside that."""

AT_RANDOM = "kill-workers-at-random"

NOT_WHOLE = f"its parts were not all there {SETTLED_WITHIN_S:g} s after its start"

ALONE = ("nodes-apart",)
"""Services that not every machine has: an experiment on one starts it by itself, after it has found out."""


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument("--only", action="append", metavar="NAME", help="run this experiment; may be given again")
    parser.add_argument(
        "--kill-s", type=float, default=KILL_S, help="how long workers are killed at random (default %(default)s)"
    )
    parser.add_argument(
        "--results", type=Path, default=Path("bench-results/chaos"), help="folder for reports (default %(default)s)"
    )
    args = parser.parse_args()
    try:
        chosen = [experiment(name) for name in args.only] if args.only else list(experiments().values())
    except ConfigError as error:
        parser.error(str(error))
    signal.signal(signal.SIGINT, _interrupt)
    body = with_machine(measured(chosen, args.results, args.kill_s))
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def measured(chosen: Sequence[Experiment], results: Path, kill_s: float) -> dict[str, Any]:
    """Run the experiments, service by service; workers are killed at random for ``kill_s``."""
    began_s = time.monotonic()
    journals: dict[str, Journal | str] = {}
    for service, group in by_service(chosen).items():
        if service in ALONE:
            journals |= {each.name: _run(each, results, kill_s) for each in group}
            continue
        left = list(group)
        try:
            while left:
                waiting = len(left)
                with shared_service(service) as bench:
                    ERR.print(f"Service {service} ready after {time.monotonic() - began_s:.0f} s", highlight=False)
                    while left and settled(bench):  # one that an experiment left broken is started anew
                        journals[left[0].name] = _run(left[0], results, kill_s)
                        del left[0]
                if len(left) == waiting:
                    journals[left.pop(0).name] = f"service {service}: {NOT_WHOLE}"
        except (RuntimeError, OSError) as error:
            journals |= {each.name: f"service {service}: {error}" for each in left}
    return _summed(journals) | {"seconds": time.monotonic() - began_s}


def _run(chosen: Experiment, results: Path, kill_s: float) -> Journal:
    variables = {"kill_s": kill_s, "load_s": kill_s + REST_S} if chosen.name == AT_RANDOM else {}
    journal = chosen.run(results / chosen.name, variables)
    if TOLD_TO_END.is_set():  # Chaos Toolkit rolls back, and swallows what a signal raised
        raise SystemExit(f"stopped in {chosen.name}, which was rolled back")
    ERR.print(f"{chosen.name}: {_in_words(journal)}", highlight=False, markup=False)
    return journal


def _interrupt(*_: object) -> None:
    TOLD_TO_END.set()
    raise KeyboardInterrupt


def _summed(journals: Mapping[str, Journal | str]) -> dict[str, Any]:
    ran = {name: journal for name, journal in journals.items() if isinstance(journal, Journal)}
    held = {name: goals(journal) for name, journal in ran.items() if journal.skipped is None}
    held |= {name: {"its service started": False} for name in journals.keys() - ran.keys()}
    return {
        "experiments": summary(ran)
        | {name: {"verdict": journal} for name, journal in journals.items() if name not in ran},
        "goals": held,
        "missed": {
            name: missed for name, own in held.items() if (missed := [goal for goal, met in own.items() if not met])
        },
        "goals_met": all(met for own in held.values() for met in own.values()),
    }


def _in_words(journal: Journal) -> str:
    if journal.skipped is not None:
        return f"skipped, {journal.skipped}"
    figures = journal.figures
    if figures is None:
        return f"{journal.verdict}, without figures: {'; '.join(journal.problems())}"
    recovered_s = figures["recovered_s"]
    return (
        f"{journal.verdict}: {figures['failed']} failed, {figures['unanswered']} unanswered, {figures['late']} late "
        f"of {figures['sent']}; back after {'?' if recovered_s is None else format(recovered_s, '.0f')} s"
    )


if __name__ == "__main__":
    main()
