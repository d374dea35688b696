"""Histories and scores as people read them."""

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from forecast.artifact import SUFFIX, ModelCard
from forecast.series.report import SeriesReport, instant, length
from forecast.training.scores import Scores
from forecast.training.task import ForecastTask

SCORES = ("RMSE/s", "SMAPE", "pinball/s", "covered", "90% width/s")


def render_training(report: SeriesReport, card: ModelCard, scores: Scores | None, out: str) -> RenderableType:
    """What a model learned from, and how good it is on what was held out."""
    told = [
        Text(f"{card.name} forecasts {describe(card.task)}", style="bold"),
        Text(f"It learned from {instant(card.trained_from_s)} to {instant(card.trained_until_s)}"),
    ]
    table = (
        []
        if scores is None
        else [render_scores({card.name: scores}, f"On {length(card.training['held_out_s'])} held out")]
    )
    return Group(render_series(report), *told, *table, Text(f"Written to {out}"))


def render_series(report: SeriesReport) -> RenderableType:
    """What was found in a file."""
    grid = Table.grid(padding=(0, 1))
    for line in report.lines():
        grid.add_row("-", Text(line))
    return Group(Text(f"Load of {report.where}", style="bold"), grid)


def render_scores(scores: Mapping[str, Scores], title: str) -> Table:
    """One line per model, all at the same origins."""
    origins = next(iter(scores.values())).origins
    table = Table(title=f"{title}, {origins:,} forecasts", title_justify="left")
    table.add_column("model", overflow="fold")
    for heading in SCORES:
        table.add_column(heading, justify="right")
    for name, each in scores.items():
        table.add_row(
            Text(name),
            f"{each.rmse_qps:.2f}",
            f"{each.smape_pct:.2f}%",
            f"{each.pinball_qps:.3f}",
            f"{each.coverage_90_pct:.1f}%",
            f"{each.width_90_qps:.1f}",
        )
    return table


def describe(task: ForecastTask) -> str:
    """A task in words."""
    kind = {"max": "the highest load", "mean": "the mean load"}[task.statistic]
    lead = f", {length(task.lead_s)} ahead," if task.lead_s else ""
    return f"{kind} of the next {length(task.window_s)}{lead} from the last {length(task.context_s)}"


def short_names(files: Iterable[str]) -> dict[str, str]:
    """Files by what tells them apart: their last part, or all of it where two have the same."""
    last = {file: file.rstrip("/").rpartition("/")[2].removesuffix(SUFFIX) for file in files}
    names = list(last.values())
    return {file: name if names.count(name) == 1 else file for file, name in last.items()}
