"""Secrets, read from the environment or from files that nobody else can read."""

import os
import stat
from pathlib import Path

from catalog.errors import ConfigError
from serve_app.config.security import SecretConfig

FOR_OWNER = stat.S_IRWXG | stat.S_IRWXO
"""Bits that a file of one's own may not have."""
OF_ROOT = stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO
"""The same for a file of root, which may be readable by a group, as mounted secrets are."""


def read_secret(where: str, source: SecretConfig) -> bytes:
    """What a source holds, without white space around it. Raises `ConfigError`; messages never have the secret."""
    if source.env is not None:
        content = os.environ.get(source.env, "").strip().encode()
        if not content:
            raise ConfigError(
                f"{where}.env: environment variable {source.env} is not set; set it where the service is started, on a "
                "cluster before `ray start` on every node that runs routers"
            )
        return content
    return read_secret_file(f"{where}.file", Path(source.file or ""))


def read_secret_file(where: str, path: Path) -> bytes:
    """What a file holds, without white space around it; ``where`` is what names the file. Raises `ConfigError`."""
    try:
        with path.open("rb") as file:
            _refuse_if_shared(where, path, os.fstat(file.fileno()))
            content = file.read().strip()
    except OSError as error:
        raise ConfigError(f"{where}: cannot read {path}: {error.strerror}; put the secret there") from error
    if not content:
        raise ConfigError(f"{where}: {path} is empty; put the secret there")
    return content


def _refuse_if_shared(where: str, path: Path, status: os.stat_result) -> None:
    of_root = status.st_uid == 0 and os.geteuid() != 0
    if os.name == "posix" and status.st_mode & (OF_ROOT if of_root else FOR_OWNER):
        mode = stat.S_IMODE(status.st_mode)
        raise ConfigError(
            f"{where}: {path} has mode {mode:04o}, so that others may read or write it; run `chmod 600 {path}`"
        )
