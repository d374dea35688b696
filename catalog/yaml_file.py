"""YAML files that people write."""

from pathlib import Path
from typing import Any

import yaml

from catalog.errors import ConfigError


def read_yaml(path: Path, what: str, give: str) -> Any:
    """What a file holds; raises `ConfigError` with ``what`` it is, and what to ``give`` instead."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {what}: {error.strerror}; give {give}") from error
    try:
        return yaml.safe_load(content.decode())
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # a value such as 2001-99-99 is a ValueError
        raise ConfigError(f"{what} is not YAML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{what} is not YAML that can be read: it is nested too deeply") from error
    except (AttributeError, TypeError, KeyError, IndexError) as error:  # PyYAML's own, over marks such as `!!int x`
        raise ConfigError(f"{what} is not YAML: {type(error).__name__}: {error}") from error
