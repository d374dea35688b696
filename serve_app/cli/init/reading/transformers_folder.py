"""Folders of transformers' ``save_pretrained``."""

from pathlib import Path
from typing import Any

from transformers import AutoConfig

from catalog.errors import ConfigError
from catalog.tensor import TensorSpec
from deployments.runtimes.base import one_line
from deployments.runtimes.classifier_folder import REMEDY, other_than_classes
from serve_app.cli.init.reading.described import Described

_KIND = "ForSequenceClassification"


def read_folder(path: Path) -> Described:
    """What a sequence classifier takes and gives, with the names of its classes; raises `ConfigError`."""
    try:
        config = AutoConfig.from_pretrained(str(path), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # transformers raises whatever its parsers do
        raise ConfigError(f"{path} is no folder of transformers: {one_line(error)}") from error
    kinds = config.architectures or ["nothing"]
    if not any(kind.endswith(_KIND) for kind in kinds):
        raise ConfigError(
            f"{path} holds a {', '.join(kinds)}, and runtime 'transformers' runs classifiers of text ({_KIND}); write "
            "a class of your own around it: docs/your-code.md"
        )
    if (why := other_than_classes(config)) is not None:
        raise ConfigError(f"{path} {why}, and runtime 'transformers' gives the likeliest class; {REMEDY}")
    labels = _labels(path, config)
    return Described(
        "transformers",
        (TensorSpec("text", "BYTES", (-1,)),),
        (TensorSpec("label", "INT64", (-1,)), TensorSpec("probabilities", "FP32", (-1, len(labels)))),
        labels,
    )


def _labels(path: Path, config: Any) -> tuple[str, ...]:
    """The names of the classes in the order of their numbers."""
    names, where = config.id2label, f"{path}, config.json: id2label"
    missing = sorted(set(range(len(names))) - set(names))
    if missing:
        raise ConfigError(
            f"{where} names {len(names)} classes, without the number {', '.join(map(str, missing))}; it has "
            f"{', '.join(map(str, sorted(names)))}; number them from 0 to {len(names) - 1}"
        )
    labels = tuple(str(names[number]) for number in range(len(names)))
    doubled = next((name for name in labels if labels.count(name) > 1), None)
    if doubled is not None:
        numbers = ", ".join(str(number) for number, name in enumerate(labels) if name == doubled)
        raise ConfigError(f"{where} has {doubled!r} for the classes {numbers}; give each a name of its own")
    return labels
