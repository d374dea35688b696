"""Folders of transformers' ``save_pretrained``."""

from pathlib import Path

from transformers import AutoConfig

from catalog.errors import ConfigError
from catalog.tensor import TensorSpec
from deployments.runtimes.base import one_line
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
    classes = config.num_labels
    return Described(
        "transformers",
        (TensorSpec("text", "BYTES", (-1,)),),
        (TensorSpec("label", "INT64", (-1,)), TensorSpec("probabilities", "FP32", (-1, classes))),
        tuple(str(config.id2label[number]) for number in range(classes)),
    )
