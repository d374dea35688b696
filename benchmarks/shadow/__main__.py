"""How soon shadow runs find a broken variant, and what they cost.

``python -m benchmarks.shadow --json``. Live: `accord run` with an endpoint for each of three variants of the digits,
one of them a model file whose classes are permuted, from the first query on; labelled digits go to all three, and one
query in a hundred is compared with the most accurate variant. ``found_after_queries`` is what the broken variant had
answered when the status said so; live estimates are held against the labels, which the service does not see. In virtual
time, over many seeds, with the recorded votes of all variants: the same, a variant broken or not; and the same queries
with and without shadow runs at several loads, from light to more than the workers bear.
"""

import argparse
from statistics import median
from typing import Any

import numpy as np
import orjson
import yaml
from rich.console import Console

from benchmarks.arguments import positive, whole
from benchmarks.machine import with_machine
from benchmarks.shadow.live import BROKEN, Seen, seen_live
from benchmarks.shadow.simulated import REFERENCE, SHARE, detect, digits_votes, harm

ERR = Console(stderr=True)
MOST_QUERIES = 2000
MOST_LOST_POINTS, MOST_MORE_VIOLATIONS = 0.05, 0.0005
SMALL = "digits-cnn-s"
LOADS_QPS = (50.0, 200.0, 400.0, 800.0, 1600.0)


def main() -> None:
    """Simulate, serve and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument(
        "--rate", type=positive, default=40.0, help="queries per second and variant (default %(default)s)"
    )
    parser.add_argument("--seconds", type=positive, default=75.0, help="of load (default %(default)s)")
    parser.add_argument("--seeds", type=whole, default=20, help="simulated runs of each kind (default %(default)s)")
    parser.add_argument("--no-live", action="store_true", help="simulate alone")
    args = parser.parse_args()
    simulated = _simulated(args.seeds)
    goals = simulated.pop("goals")
    body: dict[str, Any] = {"reference": REFERENCE, "share": SHARE, "simulated": simulated}
    if not args.no_live:
        seen = seen_live(args.rate, args.seconds, SHARE)
        body["live"] = {name: each.to_record() for name, each in seen.items()}
        goals |= _live_goals(seen)
    body |= {"goals": goals, "goals_met": all(goals.values())}
    body = with_machine(body)
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def _live_goals(seen: dict[str, Seen]) -> dict[str, bool]:
    records = {name: each.to_record() for name, each in seen.items()}
    found = seen[BROKEN].found_after
    return {
        "live_broken_variant_found_in_time": found is not None and found <= MOST_QUERIES,
        "live_no_false_alarm": all(each.found_after is None for name, each in seen.items() if name != BROKEN),
        "live_estimates_cover_labels": all(each["labels_within_interval"] for each in records.values()),
    }


def _simulated(seeds: int) -> dict[str, Any]:
    votes = digits_votes()
    variants = [name for name in votes.members if name != REFERENCE]
    found, broken = {}, []
    false_alarms = covered = runs = 0
    for variant in variants:
        ERR.print(f"Simulating {variant}", highlight=False)
        sick = [detect(votes, variant, True, MOST_QUERIES * 2, seed) for seed in range(seeds)]
        well = [detect(votes, variant, False, MOST_QUERIES * 2, seed) for seed in range(seeds)]
        after = [each.found_after[variant] for each in sick]
        broken += after
        found[variant] = {
            "median_queries": median(each if each is not None else np.inf for each in after),
            "most_queries": max(each if each is not None else np.inf for each in after),
            "not_found": after.count(None),
        }
        false_alarms += sum(each.found_after[variant] is not None for each in well)
        for each in (*sick, *well):
            low, high = each.live.get(variant, (0.0, 1.0))
            covered += low <= each.truth[variant] <= high
            runs += 1
    harms = [harm(votes, only, load_qps, 30.0, SHARE, seed=1) for only in (None, SMALL) for load_qps in LOADS_QPS]
    in_time = [each is not None and each <= MOST_QUERIES for each in broken]
    lost = [100 * (each["without"]["accuracy"] - each["with"]["accuracy"]) for each in harms]
    more = [each["with"]["violation_rate"] - each["without"]["violation_rate"] for each in harms]
    return {
        "found_after_queries": found,
        "found_in_time_share": float(np.mean(in_time)),
        "false_alarms": false_alarms,
        "interval_coverage": covered / runs,
        "harm": harms,
        "goals": {
            "simulated_found_in_time": float(np.mean(in_time)) >= 0.95,
            "simulated_no_false_alarm": false_alarms == 0,
            "simulated_interval_coverage": covered / runs >= 0.9,
            "simulated_accuracy_is_kept": max(lost) <= MOST_LOST_POINTS,
            "simulated_deadlines_are_kept": max(more) <= MOST_MORE_VIOLATIONS,
        },
    }


if __name__ == "__main__":
    main()
