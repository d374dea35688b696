"""``accord interference``: measure how much variants on one machine slow each other down."""

import typer

from serve_app.cli.interference.evaluate import evaluate
from serve_app.cli.interference.measure import measure
from serve_app.cli.interference.train import train

interference = typer.Typer(
    no_args_is_help=True, help="Measure how much variants slow each other down on one machine, and learn to predict it."
)
interference.command()(measure)
interference.command()(train)
interference.command()(evaluate)
