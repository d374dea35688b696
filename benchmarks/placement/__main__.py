"""Placement where variants disturb each other: `python -m benchmarks.placement [--json]`."""

import argparse
import json
from typing import Any

from benchmarks.machine import with_machine
from benchmarks.placement import scale
from predictor.kinds import FOREST, KINDS


def main() -> None:
    """Run what is asked for, and print a table or one JSON object last."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.placement", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object, last")
    parser.add_argument("--machines", type=int, default=1000, help="machines of seven types (default 1000)")
    parser.add_argument("--variants", type=int, default=1000, help="variants to choose from (default 1000)")
    parser.add_argument("--placements", type=int, default=200, help="variants to place (default 200)")
    parser.add_argument("--kind", choices=KINDS, default=FOREST, help=f"of predictor (default {FOREST})")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default 0)")
    given = parser.parse_args()
    body: dict[str, Any] = {
        "scale": scale.measure(given.machines, given.variants, given.placements, given.kind, given.seed)
    }
    body["goals_met"] = all(body["scale"]["goals_met"].values())
    found = with_machine(body, times=("place_ms", "two_choices_ms", "add_ms", "remove_ms", "start_s"))
    print(json.dumps(found) if given.json else table(found))


def table(body: dict[str, Any]) -> str:
    """The figures in words."""
    own = body["scale"]
    lines = [
        f"{own['machines']} machines of {own['machine_types']} types, {own['variants']} variants, {own['predictor']}"
    ]
    for name, words in (
        ("place_ms", "one placement decision"),
        ("two_choices_ms", "one by two choices"),
        ("add_ms", "update, a variant more"),
        ("remove_ms", "update, a variant less"),
    ):
        each = own[name]
        lines.append(
            f"{words:24} median {each['median']:8.3f} ms  p95 {each['p95']:8.3f}  max {each['max']:8.3f}; "
            f"processor {each['cpu_median']:8.3f}  p95 {each['cpu_p95']:8.3f}"
        )
    lines.append(f"all costs from the start  {own['start_s']:.1f} s; goals met: {own['goals_met']}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
