"""``accord votes``: record what every variant of a task says of labelled data."""

import csv
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.votes import SPLITS, RecordedVotes, read_votes, write_votes
from deployments.worker.voting import MemberRecord, packing_factors, recorded
from serve_app.cli.console import OUT, exit_codes, print_json
from serve_app.cli.options import AsJson
from serve_app.cli.profile import progress_bar
from serve_app.cli.votes.examples import read_examples

votes = typer.Typer(no_args_is_help=True, help="Record what every variant of a task says of labelled data.")


@votes.callback()
def _votes() -> None:
    """Make `record` a subcommand, though it is the only one."""


@votes.command()
def record(
    catalogue: Annotated[str, typer.Argument(help="A catalogue file, or 'builtin', or 'sentiment'.")],
    data: Annotated[str, typer.Option(help="A TSV file of texts and labels, or 'builtin': the held-out digits.")],
    out: Annotated[Path, typer.Option(help="CSV file of votes; other splits that are in it stay.")],
    task: Annotated[str, typer.Option(help="Record the variants of this task.")] = "sentiment",
    split: Annotated[str, typer.Option(help=f"What the data are: {' or '.join(SPLITS)}.")] = "test",
    members_out: Annotated[
        Path | None, typer.Option(help="Also write a CSV of latency (one row, median) and packing factor per member.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads that one run may use.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Run labelled data through every variant of a task, and write the class that each gives to each example."""
    with exit_codes(as_json):
        if split not in SPLITS:
            raise ConfigError(f"--split {split!r} is unknown; use {' or '.join(SPLITS)}")
        with progress_bar("Building") as building:
            loaded = load_catalogue(catalogue, lambda what, share: building(f"Building {what}", share))
        variants = loaded.of_task(task)
        inputs, labels = read_examples(data, variants[0])
        others = {name: kept for name, kept in _kept(out).items() if name != split}
        with progress_bar("Recording") as update:
            records = recorded(
                variants, loaded.root, inputs, threads, lambda name, share: update(f"Recording {name}", share)
            )
        found = RecordedVotes(
            tuple(records),
            labels,
            np.stack([member.votes for member in records.values()], axis=1),
            max(2, len(variants[0].labels), int(labels.max()) + 1),
        )
        if any(kept.members != found.members for kept in others.values()):
            raise ConfigError(f"{out} holds votes of other variants; name another file, or delete it")
        write_votes(out, {**others, split: found})
        packing = packing_factors({name: member.latency_ms for name, member in records.items()})
        if members_out is not None:
            _write_members(members_out, records, packing)
        rows = {
            name: {
                "accuracy_pct": 100 * found.accuracies[name],
                "latency_ms": member.latency_ms,
                "packing_factor": packing[name],
            }
            for name, member in records.items()
        }
        if as_json:
            print_json({"split": split, "examples": len(labels), "members": rows})
        else:
            OUT.print(_table(split, len(labels), rows))


def _kept(out: Path) -> dict[str, RecordedVotes]:
    """What a file of votes holds already."""
    return read_votes(out) if out.exists() else {}


def _write_members(path: Path, records: dict[str, MemberRecord], packing: dict[str, int]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["member", "latency_ms", "packing_factor"])
        writer.writerows([name, f"{member.latency_ms:.4f}", packing[name]] for name, member in records.items())


def _table(split: str, examples: int, rows: dict[str, dict[str, float]]) -> Table:
    table = Table(title=f"{examples} examples of split {split}")
    table.add_column("variant")
    for heading in ("accuracy", "latency of a row, ms", "packing factor"):
        table.add_column(heading, justify="right")
    for name, row in rows.items():
        table.add_row(name, f"{row['accuracy_pct']:.2f}%", f"{row['latency_ms']:.3f}", f"{row['packing_factor']:.0f}")
    return table
