"""``accord profile``: measure the latency of variants on this machine."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from catalog.artifacts.full_disk import CACHE_ELSEWHERE, told_where_full
from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.profiles.profile import LatencyProfile
from catalog.profiles.profile_cache import cache_dir
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.store import NO_MORE
from catalog.user_code.static_check import check_classes
from catalog.variant import Variant
from deployments.runtimes.user_code.prints_aside import prints_aside
from deployments.worker.measure import BUDGET_S, OnProgress, measured_profiles
from serve_app.build.application_parts import application_parts
from serve_app.build.assemble import resolve_paths
from serve_app.build.endpoints.pipelines import check_pipelines
from serve_app.build.endpoints.stacked import with_stacked
from serve_app.build.interference import interference_settings
from serve_app.build.ladders import ladders_for
from serve_app.build.named_variants import check_named_variants
from serve_app.build.profiles import profiles_for, variants_apart
from serve_app.build.user_code import check_user_code
from serve_app.cli.allocation import allocations, numbers_of_cores, record_of, table_of
from serve_app.cli.config_file import ServeFile, read_serve_file
from serve_app.cli.console import ERR, OUT, exit_codes, print_json
from serve_app.cli.options import YEAR_S, AsJson, Config

THRESHOLD_QPS, LARGEST_BATCH = 5.0, 8
"""Of base allocations, where nothing else is said."""


def profile(
    catalogue: Annotated[
        str | None,
        typer.Option(help="A catalogue file, or 'builtin', or 'sentiment'; default: that of --config, else 'builtin'."),
    ] = None,
    task: Annotated[str | None, typer.Option(help="Measure the variants of one task only.")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    threads: Annotated[int | None, typer.Option(min=1, help="Threads that one run may use; default 1.")] = None,
    budget_s: Annotated[
        float, typer.Option("--budget", min=0.1, max=YEAR_S, help="Seconds at most per variant.")
    ] = BUDGET_S,
    again: Annotated[bool, typer.Option("--again", help="Measure anew what is in the cache.")] = False,
    batch_bytes: Annotated[
        float | None,
        typer.Option(min=1, max=1e15, help="Measure no larger batches than fit in it, as pools with batch_bytes run."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Also write the profiles to this CSV file.")] = None,
    cores: Annotated[
        str | None, typer.Option(help="Find each variant's base allocation among these, such as 1,2,4 (IPA, eq. 1).")
    ] = None,
    threshold_qps: Annotated[
        float | None, typer.Option(min=0.001, max=1e9, help="What one replica must bear, with --cores; default 5.")
    ] = None,
    largest_batch: Annotated[
        int | None, typer.Option(min=1, help="That must be in time, with --cores; default 8.")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Measure latency per batch size, print it, and keep it for `serve run`."""
    with exit_codes(as_json):
        if device not in ("cpu", "cuda"):
            raise ConfigError(f"--device {device!r} is unknown; use cpu or cuda")
        if threads is not None and cores is not None:
            raise ConfigError(
                f"--threads {threads} and --cores {cores} both say how many threads a run may use; give one of them"
            )
        for option, value in (("--threshold-qps", threshold_qps), ("--largest-batch", largest_batch)):
            if value is not None and cores is None:
                raise ConfigError(f"{option} {value:g} is for base allocations; give --cores as well, or leave it out")
        _check_output(output, cores)
        file = None if config is None else read_serve_file(config)
        rules = NO_MORE if file is None else file.app.artifacts.rules
        if catalogue is None:
            catalogue = "builtin" if file is None else resolve_paths(file.app, Path.cwd()).catalogue
        with told_where_full(cache_dir(), CACHE_ELSEWHERE), progress_bar("Building") as building:
            loaded = load_catalogue(catalogue, lambda what, share: building(f"Building {what}", share))
        variants = loaded.variants if task is None else loaded.of_task(task)
        check_classes(variants, loaded.root)
        if batch_bytes is not None:
            variants = tuple(variant.within(batch_bytes) for variant in variants)
        if cores is not None:
            numbers, least_qps = numbers_of_cores(cores), threshold_qps or THRESHOLD_QPS
            with _shown() as on_progress:
                measuring = {"budget_s": budget_s, "again": again, "rules": rules}
                batch = largest_batch or LARGEST_BATCH
                found = allocations(loaded, variants, device, numbers, least_qps, batch, on_progress, **measuring)
            if as_json:
                print_json({"device": device, "threshold_qps": least_qps, "tasks": record_of(found)})
            for name, own in found.items() if not as_json else ():
                OUT.print(table_of(name, own))
            return
        with _shown() as on_progress:
            profiles = measured_profiles(
                variants,
                loaded.root,
                device,
                threads or 1,
                budget_s=budget_s,
                again=again,
                on_progress=on_progress,
                rules=rules,
            )
        if output is not None:
            rows = {v.name: ProfiledVariant(v.accuracy_pct, profiles[v.name]) for v in variants}
            try:
                write_profiles(output, rows)
            except OSError as error:
                raise ConfigError(f"--output {output} cannot be written: {error.strerror}") from error
        if as_json:
            print_json({"device": device, "threads": threads or 1, "variants": _json(variants, profiles)})
        else:
            OUT.print(_table(variants, profiles))


def _check_output(output: Path | None, cores: str | None) -> None:
    """Raise `ConfigError` where the profiles could not be written, before there are any."""
    if output is None:
        return
    if cores is not None:
        raise ConfigError(f"--output {output} holds profiles of one number of cores; leave out --cores, or --output")
    if not output.parent.is_dir():
        raise ConfigError(f"--output {output}: there is no folder {output.parent}; make it, or give another path")
    if output.is_dir():
        raise ConfigError(f"--output {output} is a folder; give the path of a file")
    if not os.access(output if output.exists() else output.parent, os.W_OK):
        raise ConfigError(f"--output {output} may not be written by this user; give another path")


def prepare(file: ServeFile) -> None:
    """Measure whatever a config serves on this machine without naming a profile, and make the ladders that it needs.

    What is not right is refused, before that where it can be told. Where only the workers' own environment can run a
    variant, all this is left to the start.
    """
    config = resolve_paths(file.app, Path.cwd())
    interference = interference_settings(config)
    with progress_bar("Building") as building:
        catalogue = load_catalogue(config.catalogue, lambda what, share: building(f"Building {what}", share))
    catalogue = with_stacked(config, catalogue)
    check_pipelines(config, catalogue)
    check_named_variants(config, catalogue)
    check_user_code(config, catalogue)
    apart = variants_apart(config, catalogue)
    if apart:
        pools, names = ", ".join(apart), ", ".join(each.name for own in apart.values() for each in own)
        ERR.print(f"Measured once the workers' environment is there (pools.{pools}.runtime_env): {names}", markup=False)
        return
    with _shown() as on_progress:
        profiles = profiles_for(config, catalogue, on_progress)
    with progress_bar("Response latencies") as update:

        def on_load(endpoint: str, done: int, wanted: int) -> None:
            update(f"Simulating response latencies of {endpoint}", done / wanted)

        ladders = ladders_for(config, catalogue, profiles, on_load)
    with _silent():
        application_parts(config, catalogue, profiles, ladders, interference)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[str, float], None]]:
    """A progress bar on standard error, seen once there is something to do."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=ERR) as bar:
        shown = bar.add_task(title, total=1.0, visible=False)

        def update(text: str, share: float) -> None:
            bar.update(shown, description=text, completed=share, visible=True)

        yield update


@contextmanager
def _silent() -> Iterator[None]:
    """Without the warnings that the service gives when it starts."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def _shown() -> Iterator[OnProgress]:
    """A progress bar for measuring, whose output is not that of what is measured."""
    with told_where_full(cache_dir(), CACHE_ELSEWHERE), prints_aside(), progress_bar("Measuring") as update:
        yield lambda variant, share: update(f"Measuring {variant}", share)


def _json(variants: tuple[Variant, ...], profiles: dict[str, LatencyProfile]) -> dict[str, object]:
    return {
        v.name: {
            "accuracy_pct": v.accuracy_pct,
            "batch": {str(size): vars(profiles[v.name].by_batch[size]) for size in profiles[v.name].batch_sizes},
        }
        for v in variants
    }


def _table(variants: tuple[Variant, ...], profiles: dict[str, LatencyProfile]) -> Table:
    sizes = sorted({size for profile in profiles.values() for size in profile.batch_sizes})
    table = Table(title="p95 latency in ms per batch size")
    table.add_column("variant")
    table.add_column("accuracy", justify="right")
    for size in sizes:
        table.add_column(str(size), justify="right")
    for variant in sorted(variants, key=lambda v: v.accuracy):
        measured = profiles[variant.name]
        cells = [f"{measured.latency_ms(size):.2f}" if size <= variant.max_batch else "-" for size in sizes]
        table.add_row(variant.name, f"{variant.accuracy_pct:.1f}%", *cells)
    return table
