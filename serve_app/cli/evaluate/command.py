"""``accord evaluate``: measure the accuracy of a task's variants on labelled data."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from numpy.typing import NDArray

from catalog.artifacts.full_disk import CACHE_ELSEWHERE, told_where_full
from catalog.catalogue import BUILTIN as BUILTIN_FILE
from catalog.catalogue import NAMED, Catalogue, load_catalogue
from catalog.errors import AccordError, ConfigError
from catalog.evaluation.accuracy_file import accuracy_path
from catalog.evaluation.metrics import METRICS, OF_CLASSES, metric
from catalog.labelled.columns import LABEL
from catalog.labelled.labelled_data import LabelledData, read_data
from catalog.profiles.profile_cache import cache_dir
from catalog.variant import STACKED, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.user_code.prints_aside import prints_aside
from deployments.worker.evaluation import BATCH_SIZE, Answers, Evaluation
from dispatch.ensemble.ballots import Ballots
from serve_app.build.endpoints.ensembles import ballots_of, no_ballots
from serve_app.cli.config_file import artifact_rules
from serve_app.cli.console import ERR, OUT, exit_codes, print_json
from serve_app.cli.evaluate.alone import alone_in
from serve_app.cli.evaluate.class_labels import ADD_LABELS, unnamed_classes
from serve_app.cli.evaluate.figures import evaluated
from serve_app.cli.evaluate.files import SPLITTING, refuse_unwritable, votes_path, write_files
from serve_app.cli.evaluate.report import write_report
from serve_app.cli.evaluate.tables import render
from serve_app.cli.options import AsJson, Config
from serve_app.cli.profile import progress_bar


def evaluate(
    catalogue: Annotated[str, typer.Argument(help="A catalogue file, or 'builtin', or 'sentiment'.")],
    data: Annotated[
        str,
        typer.Option(
            help="Labelled examples: .npz, .csv, .tsv, .parquet, a Hugging Face data set's folder, 'builtin'."
        ),
    ],
    task: Annotated[str | None, typer.Option(help="Whose variants; needed where the catalogue has several.")] = None,
    metric_name: Annotated[
        str, typer.Option("--metric", help=f"{', '.join(METRICS)}, or the import path module:function.")
    ] = "accuracy",
    out: Annotated[Path, typer.Option(help="Folder for answers, report, plots and CSV files.")] = Path("evaluation"),
    variant: Annotated[list[str] | None, typer.Option(help="Only this one; may be given again.")] = None,
    label: Annotated[str, typer.Option(help="Column or array with the truth.")] = LABEL,
    column: Annotated[list[str] | None, typer.Option(metavar="INPUT=COLUMN", help="Where names differ.")] = None,
    split: Annotated[
        str, typer.Option(help="Which rows of the votes teach ensembles (dev): 'dev' all, 'test' none, 'both' half.")
    ] = "both",
    limit: Annotated[int | None, typer.Option(min=1, help="Use so many examples at most.")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    threads: Annotated[int, typer.Option(min=1, help="Threads that one run may use.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Rows of one run.")] = BATCH_SIZE,
    again: Annotated[bool, typer.Option("--again", help="Run anew what was kept in the folder.")] = False,
    accuracy_file: Annotated[
        Path | None, typer.Option(help="Where accuracies go; default: beside the catalogue, which then reads them.")
    ] = None,
    write: Annotated[bool, typer.Option(help="Write accuracies and votes where the catalogue reads them.")] = True,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Run labelled data through every variant of a task; the catalogue has the measured accuracies from then on."""
    with exit_codes(as_json):
        if split not in SPLITTING:
            raise ConfigError(f"--split {split!r} is unknown; use {', '.join(SPLITTING)}")
        if ":" in metric_name:
            sys.path.insert(0, str(Path.cwd()))
        with prints_aside():
            metric(metric_name)
        rules = artifact_rules(config)
        with told_where_full(cache_dir(), CACHE_ELSEWHERE), progress_bar("Building") as building:
            loaded = load_catalogue(catalogue, lambda what, share: building(f"Building {what}", share))
        variants = _variants(loaded, task, variant or [])
        examples = read_data(data, variants[0], label, _columns(column or [])).first(limit)
        labels, ballots = _truth(variants[0], examples, metric_name)
        options = RuntimeOptions(device=device, threads=threads)
        target = _accuracy_file(catalogue, accuracy_file) if write else None
        refuse_unwritable(out, target)
        with told_where_full(out, f"name another folder with --out, or {CACHE_ELSEWHERE}"), alone_in(out):
            run = Evaluation(loaded.root, examples.inputs, examples.key, out / "answers", options, batch, rules)
            with prints_aside():
                answers, failed = _answers(run, variants, again)
                first = variants[0]
                found, faults = evaluated(
                    first.task, answers, labels, ballots, first.labels, metric_name, Path(data).name
                )
            for name, why in faults.items():
                _say_left_out(name, why)
            failed |= faults
            ran = [each for each in variants if each.name in found.variants]
            wrote = write_files(found, ran, loaded.root, out, split, target, _votes_wanted(loaded, ran, target))
            wrote["report"] = str(write_report(found, out))
        body = found.to_record() | {"failed": failed, "wrote": wrote}
        if as_json:
            print_json(body)
        else:
            OUT.print(render(found, failed, wrote))
        if failed:
            raise typer.Exit(1)


def _runnable(loaded: Catalogue, task: str) -> list[Variant]:
    """Those of a task that a model answers for by itself."""
    return [each for each in loaded.of_task(task) if not each.emulated and each.runtime != STACKED]


def _votes_wanted(loaded: Catalogue, ran: Sequence[Variant], target: Path | None) -> bool:
    """Whether the catalogue is to read votes from beside its accuracies: where all variants of the task ran, since
    ensembles choose among all, and it names no votes of its own."""
    task = ran[0].task
    known = loaded.votes.get(task)
    free = known is None or (target is not None and Path(known).resolve() == votes_path(target, task).resolve())
    return free and len(ran) == len(_runnable(loaded, task))


def _variants(loaded: Catalogue, task: str | None, named: Sequence[str]) -> list[Variant]:
    if task is None:
        tasks = {loaded.variant(name).task for name in named} if named else set(loaded.tasks)
        if len(tasks) != 1:
            raise ConfigError(f"the catalogue has the tasks {', '.join(loaded.tasks)}; name one with --task")
        (task,) = tasks
    found = _runnable(loaded, task)
    known = [each.name for each in found]
    for name in named:
        if name not in known:
            raise ConfigError(f"--variant {name!r} is no model of task {task!r}; there are {', '.join(known)}")
    chosen = [each for each in found if not named or each.name in named]
    if not chosen:
        raise ConfigError(f"no model does task {task!r}: its variants are emulated, and answers of those mean nothing")
    return chosen


def _columns(given: Sequence[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    for name, equals, column in pairs:
        if not (name and equals and column):
            raise ConfigError(f"--column {name + equals + column!r}: write INPUT=COLUMN")
    return {name: column for name, _, column in pairs}


def _answers(run: Evaluation, variants: Sequence[Variant], again: bool) -> tuple[dict[str, Answers], dict[str, str]]:
    """By variant what it answered, or why it cannot; raises `AccordError` where none can."""
    answers: dict[str, Answers] = {}
    failed: dict[str, str] = {}
    with progress_bar("Evaluating") as update:
        for done, variant in enumerate(variants):

            def on_share(share: float, name: str = variant.name, done: int = done) -> None:
                update(f"Evaluating {name}", (done + share) / len(variants))

            try:
                answers[variant.name] = run.answers(variant, on_share, again=again)
            except AccordError as error:
                if len(variants) == 1:
                    raise
                failed[variant.name] = str(error)
                _say_left_out(variant.name, str(error))
    if not answers:
        raise ConfigError("no variant could be run; correct the catalogue or the artifacts")
    return answers, failed


def _say_left_out(variant: str, why: str) -> None:
    ERR.print(f"variant {variant} is left out: {why}", style="red", markup=False, soft_wrap=True)


def _truth(variant: Variant, examples: LabelledData, metric_name: str) -> tuple[NDArray[Any], Ballots | None]:
    """What answers are compared with: class indices and how to read classes from answers, or labels as the metric
    takes them. Raises `ConfigError` where the labels, or the outputs, do not fit the metric."""
    if metric_name == "mean_absolute_error":
        return examples.values(), None
    ballots = ballots_of(variant)
    if ballots is not None:
        return examples.classes(variant, ballots.classes), ballots
    if metric_name in OF_CLASSES:
        words = f"{no_ballots(variant)}, or"
        if unnamed_classes(variant) is not None:
            given = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in variant.outputs)
            outputs = f"the outputs of task {variant.task!r} are {given} without labels"
            words = f"{outputs}; {ADD_LABELS}, or, where answers are numbers,"
        raise ConfigError(
            f"--metric {metric_name} compares classes, and {words} use mean_absolute_error, or module:function"
        )
    return examples.labels, None


def _accuracy_file(catalogue: str, given: Path | None) -> Path | None:
    """The built-in catalogues are part of Accord: what is measured of them is not written there unless asked for."""
    if given is not None:
        return given
    if catalogue in NAMED:
        where = accuracy_path(BUILTIN_FILE).name
        ERR.print(
            f"The catalogue {catalogue!r} comes with Accord and stays as it is; --accuracy-file {where} writes one."
        )
        return None
    return accuracy_path(Path(catalogue))
