"""An experiment's report in words and figures, as Markdown."""

from collections.abc import Sequence
from typing import Any

from chaos.report.journal import Journal

FIGURES = (
    ("sent", "queries sent"),
    ("answered", "answered"),
    ("failed", "failed: an error, or a connection that broke"),
    ("unanswered", "unanswered"),
    ("duplicated", "answers to another query"),
    ("late", "late, by the client's clock"),
    ("not_found", "404 for a path that exists"),
    ("refused", "503"),
    ("refused_without_retry_after", "of them without Retry-After"),
    ("in_hand", "in hand at the first fault"),
    ("failed_beyond_hand", "failed without being in hand"),
    ("longest_wait_ms", "longest wait of an answered query, ms"),
    ("accuracy_loss_points", "accuracy lost, points"),
    ("recovered_s", "clients see nothing of it after, s"),
    ("restored_s", "all processes and workers there again after, s"),
)


def markdown(journal: Journal, picture: str | None) -> str:
    """The whole report; ``picture`` is the file to show."""
    content, figures = journal.content, journal.figures
    parts = [f"# {journal.title}", str(content["experiment"].get("description", "")), f"**{journal.verdict}**"]
    if figures is not None:
        parts.append(
            f"{figures['load_qps']:.0f} queries/s for {figures['seconds']:.0f} s, objective {figures['slo_ms']:g} ms"
        )
    if picture is not None:
        parts.append(f"![Throughput, violations and accuracy over time]({picture})")
    if figures is not None:
        rows = [(words, cell(figures.get(name))) for name, words in FIGURES]
        rows += [(f"error `{kind}`", cell(count)) for kind, count in figures["errors"].items()]
        parts.append(table(("", "figure"), rows))
        marks = [(f"{mark['at_s']:.2f}", mark["text"]) for mark in figures["marks"]]
        parts.append(table(("at, s", "what"), marks))
    probes = [
        (name, cell(tolerance), cell(before), cell(after)) for name, tolerance, before, after in journal.hypothesis()
    ]
    parts.append("## Hypothesis\n\n" + table(("probe", "tolerance", "before", "after"), probes))
    if problems := list(journal.problems()):
        parts.append("## Problems\n\n" + "\n".join(f"- {problem}" for problem in problems))
    return "\n\n".join(part for part in parts if part) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, empty without rows."""
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(value: Any) -> str:
    """A value, short."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict) and "range" in value:
        return " to ".join(cell(float(bound)) for bound in value["range"])
    return str(value)
