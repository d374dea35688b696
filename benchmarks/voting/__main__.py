"""How long a vote takes: as served, member by member; and for rows at once, with a loop and a majority as baselines.

``python -m benchmarks.voting --json``. Every time is of one row on which all members vote, in milliseconds: the median
over rounds, each of which times all ways in turn on the same rows. ``served_ms`` is what a flow does for a query of
one row: a new tally, and after each vote whether it can still change; then the class and how sure it is.
``row_ms`` and ``batch_ms`` are `dispatch.ensemble.voting.vote` for one row at a time and for a batch, by row.
``loop_ms`` and ``majority_ms`` are dictionaries of weights and of counts, which know neither margins nor ties.
``select_ms`` is the choice of members for a constraint that was asked for before. ``paper_ms`` has what Cocktail
(appendix C) reports for the vote and for the choice. ``right`` is the share of rows that votes get right.
"""

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import orjson
import yaml

from benchmarks.machine import with_machine
from catalog.votes import RecordedVotes
from dispatch.ensemble.member import Constraint, Member
from dispatch.ensemble.selector import MemberSelector
from dispatch.ensemble.tally import Tally
from dispatch.ensemble.voting import vote
from dispatch.ensemble.weights import ClassWeights

GOAL_MS = 0.1
"""For one vote as it is served."""

PAPER_MS = {"vote": 0.5, "select": 0.7}

BATCH_ROWS = 256
LEARNED_ROWS = 20_000
SELECTED_FROM_ROWS = 500
MISTAKEN_FOR = 3

Rows = Sequence[Sequence[int]]
Weights = Sequence[Sequence[float]]


def main() -> None:
    """Vote and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of YAML")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.classes < 2 or args.members < 1 or args.rounds < 1:
        sys.exit("a vote needs 2 classes, 1 member and 1 round at least")
    body = figures(args.classes, args.members, args.rounds, args.seed)
    body = with_machine(body, times=list(body["times_ms"]))
    print(orjson.dumps(body).decode() if args.json else yaml.safe_dump(body, sort_keys=False))


def figures(classes: int, members: int, rounds: int, seed: int) -> dict[str, Any]:
    """Median times of one vote; raises AssertionError where the ways to count do not agree."""
    votes = _draw(classes, members, LEARNED_ROWS + BATCH_ROWS, seed)
    learned = ClassWeights.learned(votes.take(np.arange(LEARNED_ROWS)))
    tested = votes.take(np.arange(LEARNED_ROWS, votes.rows))
    rows, weights = tested.predictions.tolist(), learned.rows
    single = [tested.predictions[row : row + 1] for row in range(BATCH_ROWS)]
    ways: dict[str, Callable[[], Any]] = {
        "served_ms": lambda: [_as_served(said, weights, learned.largest) for said in rows],
        "row_ms": lambda: [vote(row, learned.matrix).classes[0] for row in single],
        "batch_ms": lambda: vote(tested.predictions, learned.matrix).classes.tolist(),
        "loop_ms": lambda: [_loop(said, weights) for said in rows],
        "majority_ms": lambda: [Counter(said).most_common(1)[0][0] for said in rows],
    }
    said_by = {name: way() for name, way in ways.items()}
    assert said_by["served_ms"] == said_by["row_ms"] == said_by["batch_ms"]
    select = _selection(votes.take(np.arange(SELECTED_FROM_ROWS)))
    timed: dict[str, Callable[[], Any]] = {**ways, "select_ms": lambda: [select() for _ in range(BATCH_ROWS)]}
    taken_ms: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(rounds):
        for name, way in timed.items():
            began_s = time.perf_counter()
            way()
            taken_ms[name].append((time.perf_counter() - began_s) * 1e3 / BATCH_ROWS)
    times_ms = {name: statistics.median(each) for name, each in taken_ms.items()}
    labels = tested.labels.tolist()
    return {
        "classes": classes,
        "members": members,
        "rounds": rounds,
        "batch_rows": BATCH_ROWS,
        "times_ms": times_ms,
        "served_over_loop": times_ms["served_ms"] / times_ms["loop_ms"],
        "served_over_majority": times_ms["served_ms"] / times_ms["majority_ms"],
        "right": {
            "weighted": _share_right(said_by["served_ms"], labels),
            "majority": _share_right(said_by["majority_ms"], labels),
        },
        "goal_ms": GOAL_MS,
        "paper_ms": PAPER_MS,
        "goals_met": times_ms["served_ms"] <= GOAL_MS,
    }


def _draw(classes: int, members: int, rows: int, seed: int) -> RecordedVotes:
    """Members that are right by class with 0.2 to 0.9, and otherwise name one of the next few classes."""
    rng = np.random.Generator(np.random.PCG64(seed))
    accuracy = rng.uniform(0.2, 0.9, (classes, members))
    labels = rng.integers(0, classes, rows)
    wrong = (labels[:, None] + rng.integers(1, min(classes, 1 + MISTAKEN_FOR), (rows, members))) % classes
    predictions = np.where(rng.random((rows, members)) < accuracy[labels], labels[:, None], wrong)
    return RecordedVotes(tuple(f"m{number}" for number in range(members)), labels, predictions, classes)


def _as_served(said: Sequence[int], weights: Weights, largest: Sequence[float]) -> int:
    """Like `dispatch.flow.ensemble.EnsembleFlow`, but that nobody is spared."""
    tally = Tally(weights)
    decided = False
    for member, label in enumerate(said):
        tally.add(member, label)
        decided |= tally.margin > sum(largest[member + 1 :])
    assert 0.0 < tally.confidence <= 1.0
    return tally.leader


def _loop(said: Sequence[int], weights: Weights) -> int:
    """Algorithm 1, lines 19 to 25, word for word."""
    sums: dict[int, float] = {}
    for member, label in enumerate(said):
        sums[label] = sums.get(label, 0.0) + weights[label][member]
    return max(sums, key=lambda label: sums[label])


def _selection(votes: RecordedVotes) -> Callable[[], Any]:
    members = [
        Member(name, 0.01 + 0.002 * number, accuracy, packing_factor=1.0 + number)
        for number, (name, accuracy) in enumerate(votes.accuracies.items())
    ]
    selector = MemberSelector(members, votes)
    constraint, held = Constraint(0.1), frozenset(votes.members)
    return lambda: selector.select(constraint, held)


def _share_right(said: Sequence[int], labels: Sequence[int]) -> float:
    return sum(map(int.__eq__, map(int, said), labels)) / len(labels)


if __name__ == "__main__":
    main()
