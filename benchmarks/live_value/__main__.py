"""What Accord is worth over what a user would write in thirty lines.

``python -m benchmarks.live_value --json``. The user's application (`benchmarks/live_value/user_app.py`) is one Serve
deployment with ``@serve.batch``: it takes the small model while more than N queries wait, and the most accurate one
otherwise. It runs in high-throughput mode, with the number of replicas and the batches under which the most accurate
variant answers most in time in a trial before. N is swept; the most accurate and the fastest variant always are rows as
well, and so is what a user has who knows which other model is nearly as good and fast enough. Accord
is the quickstart. All have the same digits, models, machine and client, and the same arrivals: a load with a burst,
recorded (``--series FILE``) or made up, whose highest second is ``--peak`` times what the most accurate variant bears
in the user's application.

Accuracy is by label, over the queries in time, and violations are by the client's clock. Figures are medians over the
rounds, in each of which every system is driven once.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import yaml
from rich.console import Console
from rich.table import Table

from benchmarks.arguments import picture_file, positive, seed, whole
from benchmarks.live_value.figures import ACCORD, SECOND, Figures, Medians, goals_met, goals_of
from benchmarks.live_value.picture import save_picture
from benchmarks.live_value.queries import dataset
from benchmarks.live_value.tuning import Tuned, tune
from benchmarks.live_value.user_service import PORT, Rule, user_service
from benchmarks.machine import with_machine
from benchmarks.promise.cases.bursts import made_up_excerpt, scaled, strongest_excerpt
from benchmarks.promise.systems import ENDPOINT, System
from benchmarks.recorded_load import read_recorded
from catalog.catalogue import load_catalogue
from catalog.errors import AccordError
from serve_app.loadgen.dataset import Dataset
from serve_app.loadgen.endpoint import Endpoint
from serve_app.testing.sender import Load, Sender
from serve_app.testing.service import running, soon
from workload.rate import RateSchedule

ERR = Console(stderr=True)
LIMITS = (2, 3, 4, 6, 8, 12, 16)
REST_S = 1.0
WARM_QPS, WARM_S = 50.0, 2.0
FEWEST_SECONDS = 12


def main() -> None:
    """Tune, serve, load and print."""
    args = _arguments()
    begun_s = time.monotonic()
    digits = load_catalogue("builtin").of_task("digits")
    variants = [each.name for each in sorted(digits, key=lambda each: -each.accuracy)]
    queries = dataset(args.rows)
    try:
        excerpt = (
            made_up_excerpt(args.seconds, args.seed)
            if args.series is None
            else strongest_excerpt(read_recorded(args.series)[0], args.seconds)
        )
    except AccordError as error:
        sys.exit(str(error))
    rounds: dict[str, list[Figures]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        tuned = tune(variants, folder, list(queries.bodies[:200]), args.slo_ms, _say)
        peak_qps = args.peak_qps or args.peak * tuned.accurate_qps
        load = scaled(excerpt, peak_qps)
        rules = _rules(tuned, args.limits, peak_qps)
        for number in range(args.rounds):
            for system, found in _round(rules, tuned, variants, queries, load, args, folder, number).items():
                rounds.setdefault(system, []).append(found)
    medians = {system: Medians.of(each) for system, each in rounds.items()}
    goals = goals_of(medians)
    body = {
        "slo_ms": args.slo_ms,
        "peak_qps": peak_qps,
        "mean_qps": float(load.cumulative(args.seconds)[1][-1]) / args.seconds,
        "load": "made up" if args.series is None else Path(args.series).name,
        "user_app": {"rule": asdict(tuned.rule), "replicas": tuned.replicas, "throughput_qps": tuned.throughput_qps},
        "systems": {
            name: asdict(each) | {"rounds": [asdict(r) for r in rounds[name]]} for name, each in medians.items()
        },
        "goals": goals,
        "without_the_second_best": goals_of({n: each for n, each in medians.items() if not n.startswith(SECOND)}),
        "goals_met": goals_met(goals),
        "total_s": time.monotonic() - begun_s,
    }
    body = with_machine(body, times=("total_s",), rates=("peak_qps",))
    if args.picture is not None:
        save_picture(medians, rounds, args.picture)
    if args.json:
        print(orjson.dumps(body).decode())
    else:
        _print(medians, body)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--series", help="a recorded load, one row a second, whose strongest burst is played")
    parser.add_argument("--slo-ms", type=positive, default=100.0, help="objective (default %(default)s)")
    parser.add_argument("--rows", type=whole, default=8, help="digits in a query (default %(default)s)")
    parser.add_argument("--seconds", type=_seconds, default=12, help="of a load (default %(default)s)")
    parser.add_argument(
        "--peak", type=positive, default=1.5, help="of what the best variant bears (default %(default)s)"
    )
    parser.add_argument("--peak-qps", type=positive, help="the highest second, queries/s, instead")
    parser.add_argument("--limits", type=_limits, default=list(LIMITS), help="every N (default 2,3,4,6,8,12,16)")
    parser.add_argument("--rounds", type=whole, default=3, help="of all systems (default %(default)s)")
    parser.add_argument("--seed", type=seed, default=1, help="of arrivals (default %(default)s)")
    parser.add_argument("--picture", type=picture_file, help="PNG file for accuracy over violations")
    return parser.parse_args()


def _rules(tuned: Tuned, limits: Sequence[int], peak_qps: float) -> dict[str, Rule]:
    """By name every rule of the user's application."""
    small = tuned.rule.small
    rules = {
        "most_accurate_always": tuned.rule.only(tuned.rule.accurate),
        "fastest_always": tuned.rule.only(small),
        **{f"small_beyond_{limit}": replace(tuned.rule, limit=limit) for limit in limits},
    }
    second = tuned.second(peak_qps)
    if second is not None:
        rules |= {f"{SECOND}{limit}": replace(tuned.rule, small=second, limit=limit) for limit in limits}
    return rules


def _round(
    rules: Mapping[str, Rule],
    tuned: Tuned,
    variants: list[str],
    queries: Dataset,
    load: RateSchedule,
    args: argparse.Namespace,
    folder: Path,
    number: int,
) -> dict[str, Figures]:
    """Every system once, under the same arrivals."""
    found = {}
    seed = args.seed + 100 * number
    with (
        user_service(tuned.rule, variants, tuned.replicas, folder, queries.bodies[0]) as service,
        Sender(service.infer_url, queries) as sender,
    ):
        for name, rule in rules.items():
            service.follow(rule)
            found[name] = _driven(name, sender, load, args, seed)
    content = System.of("ramsis").config(folder)
    content["http_options"]["port"] = PORT
    content["applications"][0]["args"]["endpoints"][ENDPOINT]["slo_ms"] = args.slo_ms
    with (
        running(content, folder, ENDPOINT, queries.bodies[0]) as accord,
        Sender(Endpoint(accord.url, ENDPOINT).infer_url, queries) as sender,
    ):
        found[ACCORD] = _driven(ACCORD, sender, load, args, seed)
    return found


def _driven(name: str, sender: Sender, load: RateSchedule, args: argparse.Namespace, seed: int) -> Figures:
    sender.begin(soon(RateSchedule.constant(WARM_QPS), WARM_S, seed))
    sender.finish()
    arrivals: Load = soon(load, float(args.seconds), seed)
    sender.begin(arrivals)
    found = Figures.of(sender.finish(), args.slo_ms)
    _say(f"{name}: {found.violation_pct:.2f}% violations, accuracy {found.accuracy_pct or 0.0:.2f}%")
    time.sleep(REST_S)
    return found


def _say(words: str) -> None:
    ERR.print(words, style="dim", highlight=False)


def _print(medians: Mapping[str, Medians], body: Mapping[str, Any]) -> None:
    console = Console()
    table = Table(title=f"{body['peak_qps']:.0f} queries/s at peak, objective {body['slo_ms']:g} ms")
    for heading in ("system", "violations %", "accuracy %"):
        table.add_column(heading, justify="left" if heading == "system" else "right")
    for name, each in medians.items():
        table.add_row(name, f"{each.violation_pct:.2f}", f"{each.accuracy_pct:.2f}")
    console.print(table)
    console.print(yaml.safe_dump(body["goals"], sort_keys=False), highlight=False)


def _seconds(text: str) -> int:
    if not text.isdecimal() or int(text) < FEWEST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r}; give whole seconds, {FEWEST_SECONDS} or more")
    return int(text)


def _limits(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} are no numbers of queries; give some above 0, as in 8,32")
    return [int(part) for part in parts]


if __name__ == "__main__":
    main()
