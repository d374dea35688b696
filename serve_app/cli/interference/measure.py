"""``accord interference measure``: run variants together on this machine."""

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from catalog.artifacts.rules import ArtifactRules
from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.extras import require
from catalog.machine_type import machine_type
from catalog.profiles.profile_cache import runtime_versions
from catalog.variant import STACKED, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.steady_batches import RuntimePrograms
from deployments.runtimes.user_code.prints_aside import prints_aside
from predictor.features.onnx_graph import artifact_architecture
from predictor.measure.campaign import Campaign, CampaignReport
from predictor.measure.choice import Variants, draw, read_choice
from predictor.measure.program import MeasuredVariant
from predictor.measure.records import Records, Setting
from serve_app.cli.config_file import artifact_rules
from serve_app.cli.console import ERR, OUT, exit_codes, print_json
from serve_app.cli.options import YEAR_S, AsJson, Config
from serve_app.cli.profile import progress_bar

INTERRUPTED = 130
REPEATS = 15


def measure(
    out: Annotated[Path, typer.Option(help="Folder for measurements.parquet and variants.parquet; gone on with.")],
    catalogue: Annotated[
        list[str] | None,
        typer.Option(help="A catalogue file, 'builtin' (the default) or 'sentiment'; may be repeated."),
    ] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Only this variant, and others that are named so.")] = None,
    degree: Annotated[int, typer.Option(min=2, max=16, help="Variants at most that run at the same time.")] = 3,
    configurations: Annotated[int, typer.Option(min=1, help="Different sets of variants to draw.")] = 150,
    repeats: Annotated[
        int | None,
        typer.Option(min=0, help="Of them to measure twice, to know the noise; default: 15, or all of fewer."),
    ] = None,
    only: Annotated[Path | None, typer.Option(help="Measure those of this file instead: .json or .csv.")] = None,
    until_error: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Choose configurations by what a predictor is least sure of, no more than there would be, until its "
            "mean absolute error in cross-validation is no more than this.",
        ),
    ] = None,
    budget_s: Annotated[float, typer.Option(min=1, max=YEAR_S, help="Seconds at most, in all.")] = 1200.0,
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")] = "cpu",
    threads: Annotated[int, typer.Option(min=1, help="Threads that one variant may use.")] = 1,
    cpus: Annotated[str | None, typer.Option(help="Run all variants on these CPUs only, such as 0 or 0,2-3.")] = None,
    machine: Annotated[str | None, typer.Option(help="Name of the machine type; default: what the CPU is.")] = None,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Measure latencies of variants alone and together, and what predictors may know of the variants.

    What stands in the folder already, for this machine type, these runtimes and threads, is not measured again.
    """
    with exit_codes(as_json):
        require("interference", "`accord interference measure`")
        options = RuntimeOptions(device, threads)
        pinned = cpus_of(cpus)
        programs = _programs(catalogue or ["builtin"], variant or [], options, artifact_rules(config))
        names = sorted(programs.variants)
        if until_error is not None and only is not None:
            raise ConfigError("--until-error chooses what to measure, and --only says it; give one of them")
        wanted: list[Variants] = []  # nothing yet, where that is chosen while measuring
        if only is not None:
            wanted = read_choice(only, names)
        elif until_error is None:
            twice = min(REPEATS, configurations) if repeats is None else repeats
            wanted = draw(names, degree, configurations, twice, seed)
        named = machine or machine_type(device, len(pinned) or None)
        records = Records(out, Setting(named, runtime_versions(), threads))
        campaign = Campaign(
            programs=programs,
            variants={name: _measured(programs, name) for name in names},
            records=records,
            cpus=pinned,
            gpu=options.cuda_index,
            seed=seed,
        )
        ERR.print(f"Machine type: {named}", highlight=False, markup=False)
        try:
            with prints_aside(), progress_bar("Measuring") as update:
                if until_error is None:
                    report, error = campaign.run(wanted, budget_s, _shown(update)), None
                else:
                    from serve_app.cli.interference.active import Stop, measure_until  # with torch

                    stop = Stop(until_error, configurations, budget_s)
                    report, error = measure_until(campaign, named, degree, stop, _shown(update), _say_error)
        except KeyboardInterrupt:
            ERR.print(f"stopped; what was measured is in {records.measurements}, and the same command goes on")
            raise typer.Exit(INTERRUPTED) from None
        if as_json:
            reached = {} if error is None else {"cross_validation_mae": error}
            print_json({"machine": named, "measurements": str(records.measurements), **asdict(report), **reached})
        else:
            _print(report, records)


def _say_error(configurations: int, error: float) -> None:
    ERR.print(f"after {configurations} configurations the mean absolute error is {error:.4f}", highlight=False)


def cpus_of(text: str | None) -> tuple[int, ...]:
    """Such as ``0,2-3``, each once; raises `ConfigError` for what is no CPU that this process may use."""
    if text is None:
        return ()
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise ConfigError(f"--cpus {text!r} is no list of CPUs; give their numbers, such as 0 or 0,2-3")
        found |= set(range(int(first), int(last or first) + 1))
    usable = os.sched_getaffinity(0)
    if not found or found - usable:
        numbers = ", ".join(map(str, sorted(usable)))
        raise ConfigError(f"--cpus {text!r} cannot be used here; give some of {numbers}")
    return tuple(sorted(found))


def _programs(catalogues: list[str], only: list[str], options: RuntimeOptions, rules: ArtifactRules) -> RuntimePrograms:
    """All variants of the catalogues that can be measured, or those named."""
    found: dict[str, tuple[Variant, str]] = {}
    for name in catalogues:
        with progress_bar("Building") as building:
            loaded = load_catalogue(name, _building(building))
        for each in loaded.variants:
            if each.name in found and found[each.name] != (each, loaded.root):
                raise ConfigError(f"two catalogues have a variant {each.name!r}; rename one")
            if not each.emulated and each.runtime != STACKED:
                found[each.name] = (each, loaded.root)
    unknown = [name for name in only if name not in found]
    if unknown:
        raise ConfigError(f"no variant {unknown[0]!r} to measure; the catalogues have {', '.join(sorted(found))}")
    return RuntimePrograms({name: found[name] for name in only or found}, options, rules)


def _building(update: Callable[[str, float], None]) -> Callable[[str, float], None]:
    return lambda what, share: update(f"Building {what}", share)


def _measured(programs: RuntimePrograms, name: str) -> MeasuredVariant:
    variant, _ = programs.variants[name]
    return MeasuredVariant(name, variant.max_batch, artifact_architecture(programs.artifact(name)))


def _shown(update: Callable[[str, float], None]) -> Callable[[str, int, int, float], None]:
    def show(what: str, done: int, total: int, left_s: float) -> None:
        update(f"{what}, {done} of {total}, at most {left_s / 60:.0f} min left", done / max(1, total))

    return show


def _print(report: CampaignReport, records: Records) -> None:
    OUT.print(
        f"{report.measured} configurations measured in {report.seconds:.0f} s, {report.kept} kept; "
        f"{records.measurements}",
        highlight=False,
        soft_wrap=True,
    )
    if report.left:
        OUT.print(f"{report.left} are left; the same command goes on with them", highlight=False)
    if report.disturbed:
        OUT.print(
            f"{report.disturbed} were measured while other processes had more than 5% of the CPUs (others_frac); "
            "measure on a machine that has nothing else to do",
            highlight=False,
            soft_wrap=True,
        )
    if report.noise is not None:
        OUT.print(f"repeats are {report.noise:.4f} from their mean, slowdowns spread by {report.spread:.4f}")
