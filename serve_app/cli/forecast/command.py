"""``accord forecast``: train forecasters of load, and see how good they are."""

import typer

from serve_app.cli.forecast.evaluate import evaluate
from serve_app.cli.forecast.train import train

forecast = typer.Typer(no_args_is_help=True, help="Train forecasters on a history of load, and score them on another.")
forecast.command()(train)
forecast.command()(evaluate)
