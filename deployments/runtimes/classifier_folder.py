"""What a folder of transformers must be, for its answers to mean what runtime 'transformers' says of them."""

from pathlib import Path
from typing import Any

REMEDY = "write a class of your own around it: docs/your-code.md"

VOCABULARIES = ("tokenizer.json", "tokenizer.model", "tekken.json")
"""Files with the tokens of any kind of tokenizer, beside those of its own kind."""


def other_than_classes(config: Any) -> str | None:
    """Why the model of such a configuration does not choose one of several classes, in words; None where it does."""
    if config.num_labels == 1 or config.problem_type == "regression":
        return "gives numbers, no class (regression, or num_labels is 1)"
    if config.problem_type == "multi_label_classification":
        return (
            "tells of each class whether a text is of it (problem_type multi_label_classification), not which one of "
            "them it is"
        )
    return None


def without_vocabulary(folder: Path, tokenizer: Any) -> str | None:
    """The files that the folder should have one of, where it has no tokens for its tokenizer; else None.

    The library makes up a tokenizer that knows no word. Some kinds, those of bytes and characters, need no file.
    """
    own = set(tokenizer.vocab_files_names.values())
    if not own or any((folder / name).is_file() for name in (*own, *VOCABULARIES)):
        return None
    return ", ".join(sorted(own))
