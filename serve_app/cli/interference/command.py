"""``accord interference``: measure how much variants on one machine slow each other down."""

import typer

from serve_app.cli.interference.measure import measure

interference = typer.Typer(
    no_args_is_help=True, help="Measure how much variants slow each other down on one machine, and learn to predict it."
)
interference.command()(measure)


@interference.callback()
def _group() -> None:
    """Keeps its commands under their names, however few there are."""
