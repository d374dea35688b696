"""Several experiments in one table."""

from collections.abc import Mapping
from typing import Any

from chaos.report.journal import Journal
from chaos.report.text import cell

COUNTS = ("sent", "answered", "failed", "late", "duplicated", "unanswered", "accuracy_loss_points", "recovered_s")
HEADER = ("experiment", "verdict", *COUNTS)


def summary(told: Mapping[str, Journal]) -> dict[str, dict[str, Any]]:
    """By name the verdict and the figures of each, without series."""
    found = {}
    for name, journal in told.items():
        figures = {key: value for key, value in (journal.figures or {}).items() if key != "series"}
        found[name] = {"verdict": journal.verdict, "problems": list(journal.problems()), **figures}
        if journal.skipped is not None:
            found[name]["skipped"] = journal.skipped
    return found


def rows(told: Mapping[str, Journal]) -> list[tuple[str, ...]]:
    """A header, and a row of cells for each."""
    found: list[tuple[str, ...]] = [HEADER]
    for name, journal in told.items():
        figures = journal.figures or {}
        found.append((name, journal.verdict, *(cell(figures.get(key)) for key in COUNTS)))
    return found
