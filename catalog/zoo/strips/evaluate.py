"""Measures every combination of variants: ``python -m catalog.zoo.strips.evaluate`` writes ``strips_accuracy.csv``.

The file has a line for each, with the share of development strips whose number the whole pipeline reads right. With
``--split test`` the same of the test strips is printed, and nothing is written.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from catalog.catalogue import Catalogue, load_catalogue
from catalog.zoo.session import session
from catalog.zoo.strips.adapters import collect, crop
from catalog.zoo.strips.layout import CHECK, FIND, READ
from catalog.zoo.strips.measures import measured_strips, number_share
from catalog.zoo.strips.strips import Strips

STAGES = {"find": FIND, "read": READ, "check": CHECK}
"""The task of each stage."""
ACCURACY = Path(__file__).parent.parent / "strips_accuracy.csv"

Combination = tuple[str, str, str]
"""Variants that find, read and check."""


def measure(catalogue: Catalogue, strips: Strips) -> Iterator[tuple[Combination, float]]:
    """Every combination of variants and the share of the ``strips`` that it reads right."""
    finders, readers, checkers = (
        {v.name: session(Path(catalogue.root) / v.artifact.uri) for v in catalogue.of_task(task)}
        for task in STAGES.values()
    )
    for find, finder in finders.items():
        (starts,) = finder.run(["starts"], {"image": strips.images})
        cut = crop(image=strips.images, starts=starts)
        for read, reader in readers.items():
            (probabilities,) = reader.run(["probabilities"], cut)
            readings = collect(starts=starts, probabilities=probabilities)
            for check, checker in checkers.items():
                yield (find, read, check), number_share(strips, checker.run(["digits"], readings)[0])


def write(measured: Iterator[tuple[Combination, float]], file: TextIO) -> None:
    """A line for each combination, accuracies between 0 and 1."""
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow([*STAGES, "accuracy"])
    for combination, accuracy in measured:
        lines.writerow([*combination, f"{accuracy:.4f}"])


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(description="Measure every combination of the strips' variants.")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    split = parser.parse_args().split
    measured = measure(load_catalogue("builtin"), measured_strips(split))
    if split == "test":
        write(measured, sys.stdout)
        return
    with ACCURACY.open("w", encoding="utf-8") as file:
        write(measured, file)


if __name__ == "__main__":
    main()
