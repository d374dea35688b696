"""Labelled examples for the variants of a task."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from catalog.tensor import Arrays
from catalog.texts.labelled_texts import LabelledTexts, read_labelled
from catalog.variant import Variant

BUILTIN = "builtin"
"""Names the held-out digits."""


def read_examples(source: str, variant: Variant) -> tuple[Arrays, NDArray[np.int64]]:
    """Stacked inputs of examples that ``variant`` can take, and their class indices; raises `ConfigError`."""
    if source == BUILTIN:
        return _digits(variant)
    if [(spec.datatype, spec.shape) for spec in variant.inputs] != [("BYTES", (-1,))]:
        found = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in variant.inputs)
        raise ConfigError(
            f"--data {source!r} holds texts, and task {variant.task!r} takes {found}; use a task that takes one BYTES "
            f"tensor of shape [-1], or --data {BUILTIN} for the built-in digits"
        )
    path = Path(source)
    read = read_labelled(path)
    texts = np.array(read.texts, dtype=object)
    return {variant.inputs[0].name: texts}, read.classes(_known(read, variant), path)


def _known(read: LabelledTexts, variant: Variant) -> tuple[str, ...]:
    """The labels of a file in the order of their classes: the variant's names, or numbers from 0."""
    names = variant.labels
    if names and set(read.labels) <= set(names):
        return names
    outputs = {spec.name: spec for spec in variant.outputs}
    classes = len(names) or (outputs["probabilities"].item_size if "probabilities" in outputs else 0)
    return tuple(str(index) for index in range(classes)) if classes else tuple(sorted(set(read.labels), key=_number))


def _number(label: str) -> int:
    if not label.isdecimal():
        raise ConfigError(f"label {label!r} is no class index, and the catalogue names no labels; add them there")
    return int(label)


def _digits(variant: Variant) -> tuple[Arrays, NDArray[np.int64]]:
    from catalog.zoo.digits import SIDE, held_out  # scikit-learn takes a second to import, and only this set needs it

    if [spec.shape for spec in variant.inputs] != [(-1, SIDE, SIDE)]:
        raise ConfigError(
            f"--data {BUILTIN} is the held-out digits, and task {variant.task!r} takes other inputs; give a TSV file "
            "of texts and labels"
        )
    images, labels = held_out()
    return {variant.inputs[0].name: images}, labels
