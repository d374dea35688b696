"""What can be chosen on the command line."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arguments import picture_file, positive, whole
from benchmarks.promise.cases.conditions import CONDITIONS, Cores
from benchmarks.promise.cases.timeline import SETTLING_S
from benchmarks.promise.systems import POLICIES

SHARES = (0.3, 0.6, 0.85, 1.0)
SECONDS = 12.0
QUICK_POLICIES = ("ramsis", "greedy")
QUICK_CONDITIONS = ("as_is", "slower_2")
QUICK_SHARES = (0.6, 1.0)


@dataclass(frozen=True)
class Options:
    """Of a run. ``highest_qps`` lacks what is to be found. ``parts``: what is measured."""

    policies: tuple[str, ...]
    conditions: tuple[str, ...]
    shares: tuple[float, ...]
    seconds: float
    rounds: int
    highest_qps: Mapping[Cores, float]
    series: str | None
    parts: frozenset[str]
    picture: Path | None
    as_json: bool


def parse(description: str | None, arguments: Sequence[str] | None = None) -> Options:
    """Of the command line; exits where it is wrong."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object last, instead of tables")
    parser.add_argument("--quick", action="store_true", help="two policies, two conditions, two loads, to try it out")
    parser.add_argument("--policies", type=_Names(POLICIES), help=f"some of {','.join(POLICIES)}")
    parser.add_argument("--conditions", type=_Names(tuple(CONDITIONS)), help=f"some of {','.join(CONDITIONS)}")
    parser.add_argument("--loads", type=_shares, help="shares of the highest load (default 0.3,0.6,0.85,1)")
    parser.add_argument("--seconds", type=_seconds, default=SECONDS, help="of one case (default %(default)g)")
    parser.add_argument("--rounds", type=whole, default=1, help="figures are medians over them (default 1)")
    parser.add_argument("--highest-qps", type=positive, help="the highest load, which is not searched for then")
    parser.add_argument("--one-core-highest-qps", type=positive, help="the same on one core")
    parser.add_argument("--series", help="a recorded load, one row a second, whose strongest burst is played")
    parser.add_argument("--picture", type=picture_file, help="write violations and accuracy over load to this PNG file")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--starts", action="store_true", help="only how long starts and tables take")
    only.add_argument("--table", action="store_true", help="only what `accord load` reports at 600/s and 1,000/s")
    parser.add_argument("--no-starts", action="store_true", help="leave the starts out")
    args = parser.parse_args(arguments)
    parts = {"cases", "starts", "table"}
    if args.quick:
        parts = {"cases"}
    if args.starts or args.table:
        parts = {"starts"} if args.starts else {"table"}
    elif args.no_starts:
        parts.discard("starts")
    given = {Cores.ALL: args.highest_qps, Cores.ONE: args.one_core_highest_qps}
    return Options(
        args.policies or (QUICK_POLICIES if args.quick else POLICIES),
        args.conditions or (QUICK_CONDITIONS if args.quick else tuple(CONDITIONS)),
        shares=args.loads or (QUICK_SHARES if args.quick else SHARES),
        seconds=args.seconds,
        rounds=args.rounds,
        highest_qps={cores: qps for cores, qps in given.items() if qps is not None},
        series=args.series,
        parts=frozenset(parts),
        picture=args.picture,
        as_json=args.json,
    )


class _Names:
    """Reads names that are separated by commas."""

    def __init__(self, known: tuple[str, ...]) -> None:
        self._known = known

    def __call__(self, text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        for name in names:
            if name not in self._known:
                raise argparse.ArgumentTypeError(f"{name!r} is unknown; use some of {', '.join(self._known)}")
        return names


def _shares(text: str) -> tuple[float, ...]:
    return tuple(sorted(positive(part) for part in text.split(",")))


def _seconds(text: str) -> float:
    seconds = positive(text)
    if seconds < SETTLING_S + 1.0:
        raise argparse.ArgumentTypeError(
            f"{text} s, of which the first {SETTLING_S:g} do not count; give {SETTLING_S + 1:g} or more"
        )
    return seconds
