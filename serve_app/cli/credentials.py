"""The API key that the commands send, from the environment or a file; never from the command line, which others see."""

import os
from pathlib import Path
from typing import Annotated

import typer

from catalog.errors import ConfigError
from serve_app.http.security.secret import read_secret_file

KEY = "ACCORD_API_KEY"
"""Environment variable with the key."""

ApiKeyFile = Annotated[
    Path | None,
    typer.Option(help=f"File with the API key to send (chmod 600); default: the environment variable {KEY}."),
]

_file: Path | None = None


def use_key_file(file: Path | None) -> None:
    """Have the commands of this process send the first key of a file; None: the one of the environment."""
    global _file
    _file = file


def key_headers() -> dict[str, str]:
    """Headers that say who calls; none where no key is given. Raises `ConfigError` where there is none to be had."""
    if _file is not None:
        key = read_secret_file("--api-key-file", _file).split()[0].decode(errors="replace")
    else:
        key = os.environ.get(KEY, "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError(f"{KEY}, or the file of --api-key-file, holds no key; use visible ASCII characters")
    return {"Authorization": f"Bearer {key}"} if key else {}
