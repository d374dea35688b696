"""Throughput and latency with texts of different lengths: kept apart in buckets, and padded in other ways.

``python -m benchmarks.lengths --json [--texts FILE.tsv]``. A small transformer of random weights, read and run by
runtime `transformers`, answers real sentences: of a TSV file of texts and labels, such as SST-2, or of the project's
own pages. The dispatcher of the service batches them, and one worker, a process of its own, runs them on one thread,
without a network. The ways:

- ``buckets``: texts of one bucket of lengths share a batch, at most ``padding_share`` of which is padding;
- ``maximum``: every text is padded to the longest text that there is, as a model with inputs of one size needs it;
- ``longest``: every batch is padded to its longest text, whoever is in it;
- ``one_by_one``: no batches.

Rounds play all ways in turn on the same texts, and figures are medians over rounds. ``full`` is with as many clients
as ``clients``, each of which sends its next text when it has an answer; ``same_load`` with texts that come at random at
`SHARE_OF_MAXIMUM` of what ``maximum`` answered with all its clients. A text is late beyond ``slo_s``, which is
`SLO_BATCHES` full batches of ``maximum``. ``throughput_over`` and ``p99_over`` compare ``buckets`` with the others, as
medians of what they come to in each round; ``texts_per_cpu_s_over`` does by processor time, of this process and of the
worker, which others on the machine do not take away. The
goal is twice the throughput of ``maximum`` with no more of the texts late.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import orjson
import yaml
from tqdm import tqdm

from benchmarks.lengths.load import Played, play_full, play_rate
from benchmarks.lengths.model import token_counts, write_model
from benchmarks.lengths.texts import read_texts
from benchmarks.lengths.ways import BUCKETS, MAXIMUM, WAYS, Way, ways
from benchmarks.machine import with_machine
from catalog.errors import ConfigError
from catalog.lengths import Lengths
from dispatch.lengths.buckets import LengthBuckets

GOAL = 2.0
"""Times the throughput of ``maximum``."""

SLO_BATCHES = 4.0
SHARE_OF_MAXIMUM = 0.8
PADDING_SHARE = 0.15
MOST_TEXTS = 4000


def main() -> None:
    """Play and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument("--texts", type=Path, help="TSV file of texts and labels instead of the project's pages")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each way in each round")
    parser.add_argument("--clients", type=int, default=128)
    parser.add_argument("--max-batch", type=int, default=32)
    parser.add_argument("--profile-s", type=float, default=6.0, help="seconds that each profile is measured for")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.rounds < 1 or args.seconds <= 0 or args.clients < 1 or args.max_batch < 1:
        sys.exit("give 1 round, some seconds, 1 client and batches of 1 row at least")
    try:
        texts = read_texts(args.texts)
    except ConfigError as error:
        sys.exit(str(error))
    body = with_machine(figures(texts, args), times=["slo_s", "p99_ms"], rates=["throughput_qps"])
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def figures(all_texts: tuple[str, ...], args: argparse.Namespace) -> dict[str, Any]:
    """The medians of all ways, what they come to, and whether the goal is met."""
    rng = np.random.default_rng(args.seed)
    texts = [all_texts[index] for index in rng.permutation(len(all_texts))[:MOST_TEXTS]]
    with tempfile.TemporaryDirectory(prefix="accord-lengths-") as folder:
        tokenizer = write_model(Path(folder), texts, args.seed)
        tokens = token_counts(tokenizer, texts)
        lengths = Lengths(longest=max(tokens), typical=round(float(np.mean(tokens))))
        with ways(Path(folder), lengths, args.max_batch, PADDING_SHARE, args.profile_s) as compared:
            slo_s = SLO_BATCHES * compared[MAXIMUM].profile.mean_s(args.max_batch)
            full_rounds = _rounds(
                compared, args, "full", lambda way, _: play_full(way, slo_s, texts, args.clients, args.seconds)
            )
            full = {name: _medians(each) for name, each in full_rounds.items()}
            rate_qps = SHARE_OF_MAXIMUM * full[MAXIMUM]["throughput_qps"]
            same_rounds = _rounds(
                compared,
                args,
                "same load",
                lambda way, number: play_rate(way, slo_s, texts, rate_qps, args.seconds, args.seed + number),
            )
    same = {name: _medians(each) for name, each in same_rounds.items()}
    others = [name for name in WAYS if name != BUCKETS]
    ratios = {name: _over(full_rounds, name, "throughput_qps") for name in others}
    no_later = full[BUCKETS]["late_share"] <= full[MAXIMUM]["late_share"]
    no_later_at_load = same[BUCKETS]["late_share"] <= same[MAXIMUM]["late_share"]
    seen = LengthBuckets.covering(tokens, lengths.longest, PADDING_SHARE)
    return {
        "texts": {
            "count": len(texts),
            "tokens_mean": float(np.mean(tokens)),
            "tokens_p95": float(np.percentile(tokens, 95)),
            "tokens_longest": lengths.longest,
            "buckets": len({seen.number(length) for length in tokens}),
        },
        "padding_share": PADDING_SHARE,
        "max_batch": args.max_batch,
        "clients": args.clients,
        "rounds": args.rounds,
        "slo_s": slo_s,
        "full": full,
        "same_load": {"rate_qps": rate_qps, "ways": same},
        "throughput_over": ratios,
        "texts_per_cpu_s_over": {name: _over(full_rounds, name, "texts_per_cpu_s") for name in others},
        "p99_over": {name: _over(same_rounds, name, "p99_ms") for name in others},
        "goals": {
            "throughput_over_maximum": {"goal": GOAL, "found": ratios[MAXIMUM], "met": ratios[MAXIMUM] >= GOAL},
            "no_more_late": {"met": no_later and no_later_at_load},
        },
        "goals_met": ratios[MAXIMUM] >= GOAL and no_later and no_later_at_load,
    }


def _rounds(compared: dict[str, Way], args: argparse.Namespace, what: str, play: Any) -> dict[str, list[Played]]:
    """Rounds that play all ways in turn, every round from another one on."""
    played: dict[str, list[Played]] = {name: [] for name in WAYS}
    order = [(number, name) for number in range(args.rounds) for name in WAYS[number % 4 :] + WAYS[: number % 4]]
    for number, name in tqdm(order, desc=what, disable=None):
        played[name].append(asyncio.run(play(compared[name], number)))
    return played


def _over(played: dict[str, list[Played]], other: str, figure: str) -> float:
    """The median over rounds of a figure of ``buckets``, as a multiple of another way's in the same round."""
    pairs = zip(played[BUCKETS], played[other], strict=True)
    return median(own.figures()[figure] / its.figures()[figure] for own, its in pairs)


def _medians(played: list[Played]) -> dict[str, float]:
    every = [each.figures() for each in played]
    return {figure: median(each[figure] for each in every) for figure in every[0]}


if __name__ == "__main__":
    main()
