"""Models at a path or URL: anywhere that fsspec can reach."""

import os
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from catalog.errors import ArtifactError
from catalog.extras import TO_INSTALL
from forecast.artifact import SUFFIX, Model, load, loads


def read(where: str) -> Model:
    """The model there; raises `ArtifactError` where it cannot be had or is none."""
    files, path = _located(where)
    if isinstance(files, LocalFileSystem):
        return load(Path(path))
    try:
        content = files.cat_file(path)
    except Exception as error:  # drivers raise their own kinds: botocore, gcsfs, aiohttp
        raise ArtifactError(f"cannot fetch {where}: {error!r}; check the URL and the credentials") from error
    return loads(content, where)


def write(model: Model, where: str) -> None:
    """Put a model there, whole or not at all; folders are made. Raises `ArtifactError` where that fails."""
    files, path = _located(where)
    try:
        if isinstance(files, LocalFileSystem):
            model.save(Path(path))
        else:
            files.makedirs(files._parent(path), exist_ok=True)
            files.pipe_file(path, model.to_bytes())
    except Exception as error:  # as above
        raise ArtifactError(f"cannot write {where}: {error!r}; check the path and the rights to it") from error


def check_target(where: str) -> None:
    """Raise `ArtifactError` where `write` would fail, as far as that can be known before there is a model."""
    if not where.endswith(SUFFIX):
        raise ArtifactError(f"a model is a {SUFFIX} file, and {where!r} is to be one; give it that ending")
    files, path = _located(where)
    if not isinstance(files, LocalFileSystem):
        return
    folder = Path(path).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtifactError(f"cannot make the folder of {where}: {error}; give another path") from error
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise ArtifactError(f"cannot write {where}: it is a folder, or in one of others; give another path")


def _located(where: str) -> tuple[Any, str]:
    try:
        files, path = fsspec.core.url_to_fs(where)
    except ImportError as error:
        raise ArtifactError(
            f"cannot reach {where}: {error}; install the driver with `{TO_INSTALL.format('cloud')}`"
        ) from error
    except ValueError as error:
        raise ArtifactError(f"cannot reach {where}: {error}; use a path, s3://, gs:// or another URL") from error
    return files, str(path)
