"""``accord forecast evaluate``: how good models are on a history, at the same origins."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from catalog.errors import ConfigError
from catalog.extras import require
from forecast.artifact import Model
from forecast.model_file import read
from forecast.series.report import SeriesReport, instant
from forecast.series.series import LoadSeries
from forecast.training.backtest import Backtest, backtest
from serve_app.cli.console import ERR, OUT, exit_codes, print_json
from serve_app.cli.forecast.job import parse_instant
from serve_app.cli.forecast.options import EndpointOption, SeriesOption, StartOption, ZerosAreGaps
from serve_app.cli.forecast.tables import describe, render_scores, render_series, short_names
from serve_app.cli.options import AsJson
from serve_app.cli.plots import check_plot


def evaluate(
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE_OR_URL", help="A model of `accord forecast train`, several to compare."),
    ] = None,
    series: SeriesOption = None,
    endpoint: EndpointOption = None,
    start: StartOption = None,
    zeros_are_gaps: ZerosAreGaps = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="INSTANT", help="First forecast; default: after what the models learned from."),
    ] = None,
    every_s: Annotated[int | None, typer.Option(min=1, help="Seconds between forecasts; default: a block.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw truth and bands from the first forecast on, as .png.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast again and again from what was known at each instant, and score it against what came."""
    with exit_codes(as_json):
        if not series:
            raise ConfigError("there is no series to score on; give --series FILE_OR_URL")
        models = _models(model or [])
        check_plot(plot)
        first = next(iter(models.values())).card
        start_s = None if start is None else int(parse_instant(start, "--start"))
        history, report = _history(series, first.step_s, start_s, endpoint, bool(zeros_are_gaps))
        from_s = _from_s(history, models) if from_ is None else parse_instant(from_, "--from")
        step_s = every_s or min(each.card.task.block_s for each in models.values())
        reach_s = max(each.forecaster.reach_s for each in models.values())
        tests = {
            name: backtest(each.forecaster, history, from_s, step_s, reach_s=reach_s) for name, each in models.items()
        }
        if plot is not None:
            _draw(plot, history, models, tests)
        if as_json:
            print_json(_record(models, tests, report, from_s, step_s, plot))
        else:
            names = short_names(models)
            title = f"From {instant(from_s)} on, every {step_s} s"
            OUT.print(render_series(report), Text(f"Forecast is {describe(first.task)}"))
            OUT.print(render_scores({names[file]: test.scores for file, test in tests.items()}, title))
            if plot is not None:
                OUT.print(Text(f"Drawn in {plot}"))
        for name, each in models.items():
            if from_s < each.card.trained_until_s and history.end_s > each.card.trained_from_s:
                ERR.print(
                    Text(f"{name} learned from the load until {instant(each.card.trained_until_s)}: scores flatter it"),
                    style="yellow",
                    soft_wrap=True,
                )


def _models(files: list[str]) -> dict[str, Model]:
    """By file; raises `ConfigError` where they do not forecast the same."""
    if not files:
        raise ConfigError("there is no model to score; give --model FILE_OR_URL, as often as wanted")
    models = {file: read(file) for file in files}
    first_file, first = next(iter(models.items()))
    for file, model in models.items():
        for name, value, other in _differences(first, model):
            raise ConfigError(
                f"{first_file} and {file} do not forecast the same, {name} is {value} and {other}; evaluate them one "
                "by one"
            )
    return models


def _differences(one: Model, other: Model) -> list[tuple[str, Any, Any]]:
    """What of the question differs; how much history models look at may."""
    pairs = [("step_s", one.card.step_s, other.card.step_s)] + [
        (name, getattr(one.card.task, name), getattr(other.card.task, name))
        for name in ("statistic", "window_s", "lead_s")
    ]
    return [pair for pair in pairs if pair[1] != pair[2]]


def _history(
    where: str, step_s: int, start_s: int | None, endpoint: str | None, zeros_are_gaps: bool
) -> tuple[LoadSeries, SeriesReport]:
    require("forecast", "reading a load series")
    from forecast.series.file import read_series  # pandas takes a second to import, which other commands do not need

    return read_series(where, step_s=step_s, start_s=start_s, endpoint=endpoint, zeros_are_gaps=zeros_are_gaps)


def _from_s(history: LoadSeries, models: dict[str, Model]) -> float:
    """After all that the models learned from, or from the beginning where that is another time altogether."""
    cards = [model.card for model in models.values()]
    learned = [card for card in cards if card.trained_from_s < history.end_s and history.start_s < card.trained_until_s]
    from_s = max((card.trained_until_s for card in learned), default=history.start_s)
    if from_s >= history.end_s:
        raise ConfigError(
            f"the series ends at {instant(history.end_s)}, and a model learned from the load until {instant(from_s)}; "
            "give --from to score it nevertheless, or --start to say when a series without times begins"
        )
    return from_s


def _draw(plot: Path, history: LoadSeries, models: dict[str, Model], tests: dict[str, Backtest]) -> None:
    from forecast.plot import save_forecasts

    task = next(iter(models.values())).card.task
    names = short_names(models)
    save_forecasts(plot, history, task, {names[file]: test for file, test in tests.items()})


def _record(
    models: dict[str, Model],
    tests: dict[str, Backtest],
    report: SeriesReport,
    from_s: float,
    every_s: int,
    plot: Path | None,
) -> dict[str, Any]:
    return {
        "series": report.to_record(),
        "from_s": from_s,
        "every_s": every_s,
        "models": [
            {
                "file": file,
                "name": models[file].card.name,
                "task": models[file].card.task.to_record(),
                "scores": test.scores.to_record(),
            }
            for file, test in tests.items()
        ],
        "plot": None if plot is None else str(plot),
    }
