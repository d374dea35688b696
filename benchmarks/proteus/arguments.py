"""The command line."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.arguments import picture_file, positive, whole
from benchmarks.proteus.sweep import HEADROOMS
from benchmarks.proteus.testbed import SLO_RULES
from workload.bursts import SHAPES


def arguments(description: str | None, given: Sequence[str] | None = None) -> argparse.Namespace:
    """What the user asked for; the command line where nothing is ``given``."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument(
        "--trace",
        type=Path,
        required=True,
        help=f"CSV with arrival_ms or arrival_s, and query_type; or bursts that are made up: {', '.join(SHAPES)}",
    )
    parser.add_argument(
        "--tuning-trace",
        type=Path,
        help="another trace, or bursts, by which each baseline's headroom is chosen (default: none is)",
    )
    parser.add_argument("--profiles", type=Path, required=True, help="accuracy and latency of the variants, CSV")
    parser.add_argument("--cluster", type=_whole, required=True, help="workers by device type, as in cpu=20,gpu=10")
    parser.add_argument("--slo-multiple", type=positive, default=2.0, help="objectives (default %(default)s)")
    parser.add_argument("--slo-rule", choices=SLO_RULES, default=SLO_RULES[0], help="of what (default %(default)s)")
    parser.add_argument("--slo-ms", type=_numbers, help="objectives of single query types, as in bert=150,t5=600")
    parser.add_argument("--speedup", type=positive, help="factor on the trace's speed (default: to overload)")
    parser.add_argument(
        "--seeds", type=whole, default=3, help="runs of the trace, one as recorded (default %(default)s)"
    )
    parser.add_argument(
        "--headrooms", type=_headrooms, default=HEADROOMS, help="times the load, as in 1,1.5 (default five from 1 to 2)"
    )
    parser.add_argument("--interval-s", type=positive, default=30.0, help="between plans (default %(default)s)")
    parser.add_argument("--solve-s", type=positive, default=0.25, help="charged per plan (default %(default)s)")
    parser.add_argument("--load-s", type=positive, default=1.0, help="to load a variant (default %(default)s)")
    parser.add_argument(
        "--break-before-make", action="store_true", help="workers that load a variant hold nothing meanwhile"
    )
    parser.add_argument("--report", type=Path, help="folder for plots over time and the JSON")
    parser.add_argument("--plot", type=picture_file, help="PNG file for drop against violations at every headroom")
    return parser.parse_args(given)


def _headrooms(text: str) -> tuple[float, ...]:
    values = tuple(map(positive, text.split(",")))
    if min(values) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} has a number below 1; plans are for the load at least")
    return values


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name and equals and value for name, equals, value in pairs):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER,NAME=NUMBER")
    return [(name, value) for name, _, value in pairs]


def _whole(text: str) -> dict[str, int]:
    numbers = _numbers(text)
    if not all(number == int(number) for number in numbers.values()):
        raise argparse.ArgumentTypeError(f"{text!r} has numbers that are not whole")
    return {name: int(number) for name, number in numbers.items()}


def _numbers(text: str) -> dict[str, float]:
    pairs = _pairs(text)
    numbers = {name: positive(value) for name, value in pairs}
    if len(numbers) < len(pairs):
        raise argparse.ArgumentTypeError(f"{text!r} has a name twice; give it once")
    return numbers
