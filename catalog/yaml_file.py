"""YAML files that people write."""

from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError

from catalog.errors import ConfigError

MERGE = "tag:yaml.org,2002:merge"
"""``<<``, which may stand more than once."""


class UniqueKeys(yaml.SafeLoader):
    """YAML in which a key stands once: of two, PyYAML takes the last without a word."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """As `yaml.SafeLoader`, before anything is merged; raises `ComposerError` with the line of a key that was there
        already."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != MERGE:
                if (key.tag, key.value) in seen:
                    raise ComposerError(
                        "while reading a mapping", node.start_mark, f"found key {key.value!r} twice", key.start_mark
                    )
                seen.add((key.tag, key.value))
        return node


def read_yaml(path: Path, what: str, give: str) -> Any:
    """What a file holds; raises `ConfigError` with ``what`` it is, and what to ``give`` instead."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {what}: {error.strerror}; give {give}") from error
    try:
        return yaml.load(content.decode(), UniqueKeys)  # a SafeLoader
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # a value such as 2001-99-99 is a ValueError
        raise ConfigError(f"{what} is not YAML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{what} is not YAML that can be read: it is nested too deeply") from error
    except (AttributeError, TypeError, KeyError, IndexError) as error:  # PyYAML's own, over marks such as `!!int x`
        raise ConfigError(f"{what} is not YAML: {type(error).__name__}: {error}") from error
