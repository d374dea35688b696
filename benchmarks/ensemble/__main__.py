"""What ensembles are worth, on recorded votes.

``python -m benchmarks.ensemble --json --votes FILE --members FILE`` takes any recorded votes: a CSV with columns
``split`` (dev or test), ``label`` and one of predicted classes per member, and a CSV ``member,latency_ms,
packing_factor``. Weights and sets of members are learned from the dev rows alone and judged on the test rows.

Without votes, the built-in tasks are voted on by their real variants, run here: sentiment on ``--sst2-test`` (a TSV of
text and label), and digits on held-out images. With ``--class-accuracy`` (``variant,class_wnid,correct_of_50``) votes
are drawn besides as `benchmarks.cocktail.votes.drawn_votes` says, since no predictions are recorded for that table.

``best_single`` is the variant that is best on the test rows themselves, which goals are about, and
``best_single_by_dev`` the one that is best on the dev rows, which a system could choose. ``latency_ms`` is the mean
over rows: of a query that is asked of in two waves, the slowest member of each, summed. ``dynamic_worst_case`` keeps
every row within the slowest variant's latency instead of the mean. ``intervals`` is the paper's Algorithm 1.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import orjson
import yaml
from rich.console import Console

from benchmarks.arguments import picture_file
from benchmarks.cocktail.votes.stand_ins import say_stand_ins
from benchmarks.ensemble.cases import SST2_TEST, Case, built_in, drawn, recorded
from benchmarks.ensemble.picture import draw
from benchmarks.ensemble.report import report
from benchmarks.ensemble.systems import Systems
from benchmarks.machine import with_machine
from catalog.errors import AccordError


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument("--votes", type=Path, help="recorded votes, CSV")
    parser.add_argument("--members", type=Path, help="latency and packing factor of each member, CSV")
    parser.add_argument(
        "--sst2-test",
        type=Path,
        default=SST2_TEST if SST2_TEST.is_file() else None,
        help=f"labelled texts that sentiment is judged on, TSV (default {SST2_TEST}, where that is there)",
    )
    parser.add_argument("--class-accuracy", type=Path, help="accuracy by class of image models, CSV")
    parser.add_argument("--picture", type=picture_file, help="where to draw the systems, PNG or SVG")
    args = parser.parse_args()
    if (args.votes is None) != (args.members is None):
        parser.error("--votes and --members belong together; give both")
    try:
        first, *others = _cases(args)
        reports = {case.name: report(Systems(case.dev, case.test, case.costs)) for case in (first, *others)}
    except AccordError as error:
        sys.exit(str(error))
    if args.picture:
        draw(reports, args.picture)
    body: dict[str, Any] = {"case": first.name, **reports[first.name]}
    if others:
        body["others"] = {case.name: reports[case.name] for case in others}
    body = with_machine(body)
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def _cases(args: argparse.Namespace) -> list[Case]:
    """The votes that were given, or those of the built-in tasks; then the drawn ones."""
    cases = [recorded(args.votes, args.members)] if args.votes else built_in(args.sst2_test)
    if args.class_accuracy is None:
        return cases
    say_stand_ins(args.class_accuracy, Console(stderr=True))
    return [*cases, drawn(args.class_accuracy)]


if __name__ == "__main__":
    main()
