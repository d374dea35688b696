"""``accord forecast train``: fit a forecaster to a history of load and keep it as a file."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from catalog.errors import ArtifactError
from catalog.extras import require
from forecast.model_file import check_target, write
from forecast.registry import NAMES
from forecast.series.report import SeriesReport
from forecast.series.series import LoadSeries
from forecast.training.training import HOLD_OUT, Trained, TrainingRequest
from forecast.training.training import train as train_forecaster
from serve_app.cli.console import OUT, exit_codes, print_json
from serve_app.cli.forecast.job import TrainJob, read_job
from serve_app.cli.forecast.options import EndpointOption, SeriesOption, StartOption, ZerosAreGaps
from serve_app.cli.forecast.progress import TrainingProgress
from serve_app.cli.forecast.tables import render_training
from serve_app.cli.options import AsJson


def train(
    series: SeriesOption = None,
    model: Annotated[str | None, typer.Option(help=f"{', '.join(NAMES)}.")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE_OR_URL", help="Where the model goes, a .safetensors file.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A YAML file with these options by name; those given here win.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder of checkpoints: the same command goes on where it was interrupted.")
    ] = None,
    endpoint: EndpointOption = None,
    step_s: Annotated[int | None, typer.Option(help="Seconds of a step of the series; default 1.")] = None,
    start: StartOption = None,
    zeros_are_gaps: ZerosAreGaps = None,
    context_s: Annotated[int | None, typer.Option(help="Seconds that it looks back; default 120.")] = None,
    window_s: Annotated[int | None, typer.Option(help="Seconds that it forecasts; default 20.")] = None,
    lead_s: Annotated[int | None, typer.Option(help="Seconds from now to the window; default 0.")] = None,
    block_s: Annotated[int | None, typer.Option(help="Seconds of a block of the context; default 10.")] = None,
    memory_s: Annotated[int | None, typer.Option(help="Seconds that it remembers surges; default 0.")] = None,
    statistic: Annotated[str | None, typer.Option(help="Of the window: max (default) or mean.")] = None,
    point: Annotated[
        str | None, typer.Option(help="The best single guess, of models with two: median (default) or mean.")
    ] = None,
    hold_out: Annotated[
        float | None, typer.Option(help=f"Share of the history, the newest, to score on; default {HOLD_OUT}.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same model; default 0.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a forecaster to the older part of a history, score it on the rest, and write it."""
    given = {key: value for key, value in locals().items() if key in TrainJob.model_fields}
    with exit_codes(as_json):
        job = read_job(given, config)
        task = job.task
        check_target(job.out)
        history, report = _history(job)
        request = TrainingRequest(
            name=job.model,
            task=task,
            series=history,
            hold_out=job.hold_out,
            seed=job.seed,
            checkpoint=job.checkpoint,
            created_s=time.time(),
            notes={"series": report.to_record()},
        )
        began_s = time.monotonic()
        _make_folder(request.checkpoints)
        with TrainingProgress(job.model) as progress:
            trained = train_forecaster(request, progress.report, progress.resumed)
        train_s = time.monotonic() - began_s
        write(trained.model, job.out)
        if as_json:
            print_json(_record(trained, report, job, train_s, progress.resumed_at))
        else:
            scores = None if trained.held_out is None else trained.held_out.scores
            OUT.print(render_training(report, trained.model.card, scores, job.out))


def _history(job: TrainJob) -> tuple[LoadSeries, SeriesReport]:
    require("forecast", "reading a load series")
    from forecast.series.file import read_series  # pandas takes a second to import, which other commands do not need

    return read_series(
        job.series,
        step_s=job.step_s,
        start_s=job.start_s,
        endpoint=job.endpoint,
        zeros_are_gaps=job.zeros_are_gaps,
    )


def _make_folder(folder: Path | None) -> None:
    """For checkpoints, so that a wrong path is known at once."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtifactError(f"cannot make the folder {folder} for checkpoints: {error}; give another") from error


def _record(trained: Trained, report: SeriesReport, job: TrainJob, train_s: float, resumed_at: int) -> dict[str, Any]:
    card = trained.model.card
    return {
        "model": card.name,
        "out": job.out,
        "task": card.task.to_record(),
        "series": report.to_record(),
        "trained_from_s": card.trained_from_s,
        "trained_until_s": card.trained_until_s,
        "held_out_s": card.training["held_out_s"],
        "scores": card.scores,
        "train_s": train_s,
        "resumed_at_step": resumed_at,
    }
