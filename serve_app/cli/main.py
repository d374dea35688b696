"""The ``accord`` command."""

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from serve_app.cli.console import exit_codes
from serve_app.cli.credentials import ApiKeyFile, use_key_file
from serve_app.cli.subcommands import Subcommands

app = typer.Typer(cls=Subcommands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


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
