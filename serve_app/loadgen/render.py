"""A report as a person reads it: numbers, then the course of the run."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from serve_app.loadgen.report import Report, Slice, Tally

BAR_WIDTH = 24
MARKS = (("█", "green"), ("▓", "cyan"), ("▒", "yellow"), ("░", "magenta"), ("▪", "blue"), ("·", "white"))
"""Fill and colour per variant, so that a bar reads without colour too; a seventh variant starts again."""


def render(report: Report) -> RenderableType:
    """The whole report; the caller prints it."""
    parts: list[RenderableType] = [_summary(report)]
    if report.errors:
        parts.append(_errors(report))
    if report.total.share:
        # most accurate first needs an accuracy per variant, which answers need not carry; the name is always there
        variants = sorted(report.total.share)
        parts += [_shares(report.total, variants), _course(report.slices, variants)]
    if report.lag.warning:
        parts.append(Text(f"Warning: {report.lag.warning}", style="bold yellow"))
    return Group(*parts)


def _summary(report: Report) -> Table:
    total = report.total
    ended = f"{report.sent} sent, {total.answered} answered, {total.ended - total.answered} failed"
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("queries", f"{ended}, {report.unfinished} unfinished" if report.unfinished else ended)
    if report.emulated:
        by = f"{report.emulated} answers: no model ran, and accuracy on labels is not counted"
        table.add_row("emulated", Text(by, style="yellow"))
    table.add_row("duration", f"{report.duration_s:.1f} s{' (interrupted)' if report.interrupted else ''}")
    table.add_row("rate", f"{report.offered_qps:.1f} qps offered, {report.throughput_qps:.1f} qps answered")
    if total.latency_ms:
        ms = total.latency_ms
        table.add_row("latency", f"p50 {ms.p50:.1f}  p95 {ms.p95:.1f}  p99 {ms.p99:.1f}  mean {ms.mean:.1f} ms")
    objective = f"objective {report.slo_ms:g} ms" if report.slo_ms is not None else "no objective known, failures only"
    violations = f"{total.violations} ({_number(total.violations_pct, '%')}), {objective}"
    table.add_row("violations", f"{violations}, {report.missed_at_server} missed by the server's own account")
    accuracy = f"{_number(total.expected_accuracy_pct, '%')} expected"
    table.add_row("accuracy", f"{_number(total.accuracy_pct, '%')} on labelled queries, {accuracy}")
    table.add_row("sending lag", f"p99 {report.lag.p99_ms:.1f}  max {report.lag.max_ms:.1f} ms")
    return table


def _errors(report: Report) -> Table:
    table = Table("error", "queries", "first message", title="Errors", title_justify="left")
    for kind, error in report.errors.items():
        table.add_row(Text(kind, style="red"), str(error.count), Text(error.example))
    return table


def _shares(total: Tally, variants: Sequence[str]) -> Table:
    table = Table("", "variant", "share", title="Variants", title_justify="left")
    for position, name in enumerate(variants):
        mark, colour = MARKS[position % len(MARKS)]
        table.add_row(Text(mark * 2, style=colour), Text(name), f"{100 * total.share[name]:.1f}%")
    return table


def _course(slices: Sequence[Slice], variants: Sequence[str]) -> Table:
    table = Table(title="Over time", title_justify="left")
    for heading in ("from s", "qps", "p99 ms", "violated", "expected accuracy"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("share of each variant", no_wrap=True)
    for piece in slices:
        ms = piece.tally.latency_ms
        table.add_row(
            f"{piece.start_s:g}",
            f"{piece.rate_qps:.0f}",
            _number(ms.p99 if ms else None, ""),
            _number(piece.tally.violations_pct, "%"),
            _number(piece.tally.expected_accuracy_pct, "%"),
            share_bar(piece.tally, variants),
        )
    return table


def share_bar(piece: Tally, variants: Sequence[str]) -> Text:
    """A bar of `BAR_WIDTH` cells cut in proportion to the shares; empty without answers."""
    bar = Text()
    filled, passed = 0, 0.0
    for position, name in enumerate(variants):
        passed += piece.share.get(name, 0.0)
        cells = round(passed * BAR_WIDTH) - filled  # rounding the sum, not each part, keeps the length
        mark, colour = MARKS[position % len(MARKS)]
        bar.append(mark * cells, style=colour)
        filled += cells
    return bar


def _number(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.1f}{unit}"
