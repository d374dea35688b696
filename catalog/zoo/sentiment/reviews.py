"""Sentences of film reviews, written for Accord and labelled: to load a service with, not to tell accuracies by."""

import csv
from pathlib import Path

REVIEWS = Path(__file__).with_name("reviews.tsv")


def labelled_reviews() -> tuple[list[str], list[str]]:
    """The sentences and, for each, ``positive`` or ``negative``."""
    with REVIEWS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row["text"] for row in rows], [row["label"] for row in rows]
