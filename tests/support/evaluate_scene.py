"""``accord evaluate`` in this process, of two of the built-in digits."""

from typing import Any

from typer.testing import CliRunner

from serve_app.cli.main import app

NAMES = ("digits-mlp", "digits-cnn-xs")
ROWS = 600


def evaluate(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["evaluate", *arguments])
