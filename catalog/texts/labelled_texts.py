"""Labelled texts: a TSV file with a text and a label per line."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError


@dataclass(frozen=True)
class LabelledTexts:
    """Texts and, at the same index, their labels as the file writes them."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    def classes(self, known: Sequence[str], path: Path) -> NDArray[np.int64]:
        """The index of each label among ``known``; raises `ConfigError` for one that is not there."""
        index = {label: number for number, label in enumerate(known)}
        for line, label in enumerate(self.labels, start=1):
            if label not in index:
                raise ConfigError(
                    f"{path}, line {line}: label {label!r} is unknown; use one of {', '.join(known)}, or train with it"
                )
        return np.array([index[label] for label in self.labels], dtype=np.int64)


def read_labelled(path: Path) -> LabelledTexts:
    """Read ``text TAB label`` lines; raises `ConfigError` naming the file, the line and what stands there."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; give a TSV file of texts and labels") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error}; write it as UTF-8") from error
    texts, labels = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        text, tab, label = line.rstrip("\r").partition("\t")
        if not tab or "\t" in label or not text.strip() or not label.strip():
            shown = line if len(line) <= 80 else f"{line[:77]}..."
            raise ConfigError(f"{path}, line {number}: {shown!r}; write a text, one tab and a label, without a header")
        texts.append(text)
        labels.append(label.strip())
    if not texts:
        raise ConfigError(f"{path} has no lines; write a text, a tab and a label on each")
    return LabelledTexts(tuple(texts), tuple(labels))
