"""The ``accord`` command: one line per subcommand."""

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from serve_app.cli.chaos import chaos
from serve_app.cli.console import exit_codes
from serve_app.cli.credentials import ApiKeyFile, use_key_file
from serve_app.cli.evaluate.command import evaluate
from serve_app.cli.forecast.command import forecast
from serve_app.cli.init.command import init
from serve_app.cli.interference.command import interference
from serve_app.cli.load import load
from serve_app.cli.plan.command import plan
from serve_app.cli.profile import profile
from serve_app.cli.query import query
from serve_app.cli.run.command import run
from serve_app.cli.status.command import status
from serve_app.cli.variants.register import register
from serve_app.cli.variants.unregister import unregister

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(query)
app.command()(load)
app.command()(status)
app.add_typer(plan, name="plan")
app.add_typer(forecast, name="forecast")
app.add_typer(interference, name="interference")
app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(chaos)
app.command()(register)
app.command()(unregister)
app.command()(profile)
app.command()(evaluate)
app.command()(run)
app.command()(init)


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"accord {version('accord')}")
        except PackageNotFoundError:
            typer.echo("accord, run from its source without being installed")
        raise typer.Exit


@app.callback()
def accord(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    api_key_file: ApiKeyFile = None,
) -> None:
    """Query, load and watch a server of interchangeable model variants."""
    with exit_codes(as_json=False):
        use_key_file(api_key_file)


if __name__ == "__main__":
    app()
