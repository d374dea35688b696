"""Paths that a config names."""

from pathlib import Path

from catalog.errors import ConfigError


def located(base: Path, location: str) -> str:
    """A path relative to the folder ``base``, with ``~`` as the home of its user; a URL as it is.

    Raises `ConfigError` where a user that it begins with has no home.
    """
    if "://" in location:
        return location
    try:
        return str(base / Path(location).expanduser())
    except RuntimeError as error:
        raise ConfigError(f"{location!r} begins with a user who has no home: {error}; give an absolute path") from error
