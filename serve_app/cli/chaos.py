"""``accord chaos``: experiments on a service whose parts die; what runs them stands above this package."""

import os
import sys
from importlib.util import find_spec

import typer

from catalog.errors import ConfigError
from catalog.extras import TO_INSTALL, require
from serve_app.cli.console import exit_codes

PROGRAM = "chaos"
"""The package with the commands; nothing of it is imported here."""


def chaos(context: typer.Context) -> None:
    """List experiments that kill, hang or starve parts of a service, run them, and report what became of queries."""
    with exit_codes(as_json=False):
        require("chaos", "accord chaos")
        if find_spec(PROGRAM) is None:
            raise ConfigError(f"the package {PROGRAM} is not installed; run `{TO_INSTALL.format('chaos')}`")
    sys.stdout.flush()
    # In the place of this process: signals reach it, and it rolls back and stops its service however long that takes.
    os.execv(sys.executable, [sys.executable, "-m", PROGRAM, *context.args])
