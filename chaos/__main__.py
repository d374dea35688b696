"""``python -m chaos``, which is also ``accord chaos``: list experiments, run them, report what they found."""

import math
import os
from collections import Counter
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from catalog.errors import ConfigError
from chaos.experiment import experiment, experiments
from chaos.report.folder import JOURNAL, REPORT, write_report
from chaos.report.journal import Journal
from chaos.report.summary import rows, summary
from chaos.services.configured import check
from chaos.services.start import Choice, refuse_cluster
from serve_app.cli.console import ERR, OUT, USAGE, exit_codes
from serve_app.cli.options import AsJson

RESULTS = Path("chaos-results")
DEVIATED = 1

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command("list")
def list_experiments(as_json: AsJson = False) -> None:
    """List the experiments that come with Accord."""
    found = experiments()
    if as_json:
        told = {name: {"title": each.title, "service": each.service} for name, each in found.items()}
        typer.echo(orjson.dumps(told).decode())
        return
    table = Table(box=None)
    for column in ("experiment", "what happens", "service"):
        table.add_column(column)
    for each in found.values():
        table.add_row(each.name, each.title, each.service)
    OUT.print(table)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="An experiment, as `accord chaos list` names them.")],
    results: Annotated[
        Path, typer.Option(help="Where journal, report and picture go, in a folder of that name.")
    ] = RESULTS,
    var: Annotated[
        list[str] | None, typer.Option(help="Seconds of the experiment's configuration, NAME=NUMBER.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Run it on what this Serve config file describes, on ports of its own; default: its service."
        ),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="Of --config, who gets the queries; default: the only one.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="For --config, what to send, as for accord load; default: by the task.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run one experiment on a service of its own; exit code 1 where its hypothesis does not hold afterwards."""
    with exit_codes(as_json):
        chosen, variables = experiment(name), _variables(var or [])
        on = _choice(config, endpoint, dataset)
        refuse_cluster(os.environ)
        starting = f"{chosen.title}: starting service {config or chosen.service}, then the experiment..."
        ERR.print(starting, markup=False)
        journal = chosen.run(results / name, variables, on)
    _tell(results / name, journal, as_json)
    if journal.verdict not in ("held", "skipped"):
        raise typer.Exit(DEVIATED)


@app.command()
def report(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Folders of results, or one with many. Default: chaos-results.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write reports and pictures anew from the journals, and print a table of all; exit code 2 where one is none."""
    with exit_codes(as_json):
        found = [journal.parent for folder in folders or [RESULTS] for journal in _journals(folder)]
        names = Counter(folder.name for folder in found)
        told, refused = {}, []
        for folder in dict.fromkeys(found):
            try:
                write_report(folder)
                told[folder.name if names[folder.name] == 1 else str(folder)] = Journal.read(folder)
            except ConfigError as error:
                refused.append(str(error))
        if not told:
            raise ConfigError("; ".join(refused))
    for words in refused:
        ERR.print(Text(f"error: {words}"), style="red", soft_wrap=True)
    if as_json:
        typer.echo(orjson.dumps(summary(told)).decode())
    else:
        OUT.print(_table(told))
    if refused:
        raise typer.Exit(USAGE)


def _journals(folder: Path) -> list[Path]:
    """Those in a folder and in all below it; raises `ConfigError` where there is none."""
    if not (found := sorted(folder.rglob(JOURNAL))):
        raise ConfigError(f"there is no {JOURNAL} in {folder} or below; give a folder that `accord chaos run` wrote")
    return found


def _tell(folder: Path, journal: Journal, as_json: bool) -> None:
    if as_json:
        typer.echo(orjson.dumps(summary({folder.name: journal})).decode())
        return
    OUT.print(_table({folder.name: journal}))
    Console(stderr=True).print(f"Report: {folder / REPORT}", markup=False)


def _table(told: dict[str, Journal]) -> Table:
    header, *lines = rows(told)
    table = Table(box=None)
    for column in header:
        table.add_column(column)
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def _choice(config: Path | None, endpoint: str | None, dataset: str | None) -> Choice | None:
    """Raises `ConfigError` for what cannot be started, and for options of a config without one."""
    if config is None:
        for option, value in (("--endpoint", endpoint), ("--dataset", dataset)):
            if value is not None:
                raise ConfigError(f"{option} {value} is for a config of your own; give that with --config")
        return None
    check(config, endpoint, dataset)
    return Choice(str(config), endpoint, dataset)


def _variables(given: list[str]) -> dict[str, float]:
    """Raises `ConfigError` for what is no NAME=NUMBER, and for what cannot be seconds, as all of them are."""
    found = {}
    for each in given:
        name, sign, value = each.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            sign = ""
        if not sign or not name:
            raise ConfigError(f"--var {each!r} is no NAME=NUMBER; write one, such as kill_s=60")
        if not 0 < found[name] < math.inf:
            raise ConfigError(f"--var {each!r} are no seconds; give a finite number above 0, such as kill_s=60")
    return found


if __name__ == "__main__":
    app(prog_name="accord chaos")
