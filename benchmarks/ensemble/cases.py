"""Where votes come from: files, the built-in tasks, or a table of accuracies by class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from benchmarks.cocktail.models import MODELS
from benchmarks.cocktail.votes.class_accuracy import read_class_accuracy
from benchmarks.cocktail.votes.drawn_votes import draw_votes
from benchmarks.ensemble.members_csv import MemberCost, check, read_members
from catalog.catalogue import SENTIMENT, load_catalogue
from catalog.errors import ConfigError
from catalog.labelled.labelled_data import BUILTIN, read_data
from catalog.tensor import Arrays
from catalog.variant import Variant
from catalog.votes import RecordedVotes, read_votes
from catalog.zoo import digits
from deployments.worker.voting import packing_factors
from deployments.worker.voting import recorded as voted
from serve_app.build.endpoints.ensembles import MOST_MEMBERS

SST2_TEST = Path(__file__).parents[3] / "shared" / "data" / "sst2" / "test.tsv"

DRAWN_DEV, DRAWN_TEST = 20_000, 10_000
DRAW_SEED = 0


@dataclass(frozen=True)
class Case:
    """Votes to learn from, votes to judge by, and what members cost."""

    name: str
    dev: RecordedVotes
    test: RecordedVotes
    costs: Mapping[str, MemberCost]


def recorded(votes: Path, members: Path) -> Case:
    """A case of two files; raises `ConfigError`."""
    splits, costs = read_votes(votes), read_members(members)
    missing = [split for split in ("dev", "test") if split not in splits]
    if missing:
        raise ConfigError(f"votes {votes} have no rows of split {' and '.join(missing)}; both are needed")
    check(costs, splits["dev"].members)
    if (count := len(splits["dev"].members)) > MOST_MEMBERS:
        raise ConfigError(f"votes {votes} have {count} members; give {MOST_MEMBERS} at most")
    return Case(votes.stem, splits["dev"], splits["test"], costs)


def built_in(sst2_test: Path | None) -> list[Case]:
    """The built-in tasks, voted on by their real variants: sentiment where there are texts to judge by, then digits."""
    return [_digits()] if sst2_test is None else [_sentiment(sst2_test), _digits()]


def drawn(class_accuracy: Path) -> Case:
    """Votes of the image models of Cocktail's Table 1, drawn from accuracies by class."""
    known = read_class_accuracy(class_accuracy).at({name: model.accuracy for name, model in MODELS.items()})
    votes = draw_votes(known, DRAWN_DEV + DRAWN_TEST, DRAW_SEED)
    rows = np.arange(votes.rows)
    costs = {name: MemberCost(1e3 * model.latency_s, model.packing_factor) for name, model in MODELS.items()}
    return Case("imagenet_drawn", votes.take(rows[:DRAWN_DEV]), votes.take(rows[DRAWN_DEV:]), costs)


def _sentiment(test: Path) -> Case:
    """Weights are learned from the votes that come with the variants, of texts that no training saw."""
    catalogue = load_catalogue(SENTIMENT)
    variants = catalogue.of_task(SENTIMENT)
    dev = read_votes(catalogue.votes[SENTIMENT])["dev"].of([variant.name for variant in variants])
    data = read_data(str(test), variants[0])
    labels = data.classes(variants[0], len(variants[0].labels))
    votes, costs = _voted(SENTIMENT, variants, catalogue.root, data.inputs, labels, dev.classes)
    return Case(SENTIMENT, dev, votes, costs)


def _digits() -> Case:
    """Half of the held-out digits to learn from and half to judge by: copies of one digit are in one half."""
    catalogue = load_catalogue("builtin")
    variants = catalogue.of_task("digits")
    data = read_data(BUILTIN, variants[0])
    labels = data.classes(variants[0], len(variants[0].labels))
    votes, costs = _voted("digits", variants, catalogue.root, data.inputs, labels, len(variants[0].labels))
    half = np.arange(votes.rows) // (votes.rows // digits.held_out_originals()) % 2
    return Case("digits", votes.take(np.flatnonzero(half == 0)), votes.take(np.flatnonzero(half == 1)), costs)


def _voted(
    task: str, variants: Sequence[Variant], root: str, inputs: Arrays, labels: NDArray[np.int64], classes: int
) -> tuple[RecordedVotes, dict[str, MemberCost]]:
    """What every variant says, and how long a row takes it, through the runtimes that serve."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(f"Variants of {task}", total=1.0)
        records = voted(variants, root, inputs, 1, lambda _, share: progress.update(bar, completed=share))
    packing = packing_factors({name: record.latency_ms for name, record in records.items()})
    said = np.column_stack([record.votes for record in records.values()])
    costs = {name: MemberCost(record.latency_ms, packing[name]) for name, record in records.items()}
    return RecordedVotes(tuple(records), labels, said, classes), costs
