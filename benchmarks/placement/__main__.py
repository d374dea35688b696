"""Placement where variants disturb each other: `python -m benchmarks.placement [--json]`, some seven minutes.

``scale`` is how long decisions take with many machines; ``effect`` what they are worth on two CPUs of this machine,
which should have nothing else to do.
"""

import argparse
import json
import sys
from typing import Any

from benchmarks.arguments import seed, whole
from benchmarks.machine import with_machine
from benchmarks.placement import effect, scale
from catalog.errors import AccordError
from predictor.kinds import FOREST, KINDS


def main() -> None:
    """Run what is asked for, and print a table or one JSON object last."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.placement", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object, last")
    parser.add_argument("--machines", type=whole, default=1000, help="machines of seven types (default 1000)")
    parser.add_argument("--variants", type=whole, default=1000, help="variants to choose from (default 1000)")
    parser.add_argument("--placements", type=whole, default=200, help="variants to place (default 200)")
    parser.add_argument("--kind", choices=KINDS, default=FOREST, help=f"of predictor (default {FOREST})")
    parser.add_argument("--only", choices=("scale", "effect"), help="one of the two halves (default both)")
    parser.add_argument("--seed", type=seed, default=0, help="of all that is drawn (default 0)")
    given = parser.parse_args()
    if given.only != "effect" and given.placements < scale.REMOVE_EVERY:
        parser.error(
            f"--placements is {given.placements}, and a removal is timed after every {scale.REMOVE_EVERY}; "
            f"give at least {scale.REMOVE_EVERY}"
        )
    try:
        body: dict[str, Any] = {}
        if given.only != "effect":
            body["scale"] = scale.measure(given.machines, given.variants, given.placements, given.kind, given.seed)
        if given.only != "scale":
            body["effect"] = effect.measure(given.seed, _say)
    except AccordError as error:
        sys.exit(str(error))
    body["goals_met"] = all(all(own["goals_met"].values()) for own in body.values())
    found = with_machine(body, times=("place_ms", "two_choices_ms", "add_ms", "remove_ms", "start_s"))
    print(json.dumps(found) if given.json else table(found))


def table(body: dict[str, Any]) -> str:
    """The figures in words."""
    lines = [*(_scale_lines(body["scale"]) if "scale" in body else ()), ""]
    return "\n".join([*lines, *(_effect_lines(body["effect"]) if "effect" in body else ())]).strip()


def _scale_lines(own: dict[str, Any]) -> list[str]:
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
    return [*lines, f"all costs from the start  {own['start_s']:.1f} s; goals met: {own['goals_met']}"]


def _effect_lines(own: dict[str, Any]) -> list[str]:
    lines = [
        f"{len(own['mixes'])} mixes on CPUs {own['cpus']} of {own['machine_type']}, median of {own['runs']} runs "
        f"(range); others had {100 * own['others_frac']:.0f}% of the CPUs"
    ]
    for measure, words in (("p95_ms", "p95, ms"), ("p95_relative", "p95 over mean latency alone")):
        found = own["over_mixes"][measure]
        for name in ("least_loaded", "interference_aware", "interference_aware_latency_sum", "oracle", "by_chance"):
            lines.append(f"{words}: {name:32} {_range(found[name])}")
        lines.append(
            f"{words}: least_loaded ({found['best_least_loaded']}) over interference_aware {_range(found['gain'])}; "
            f"{found['placed_alike']} mixes placed alike"
        )
        lines += [f"{words}: {name} over it {_range(gain)}" for name, gain in found["gain_over_each"].items()]
    return [*lines, f"goals met: {own['goals_met']}"]


def _range(found: dict[str, float]) -> str:
    return f"{found['median']:.2f} ({found['least']:.2f} to {found['most']:.2f})"


def _say(step: str) -> None:
    print(step, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
