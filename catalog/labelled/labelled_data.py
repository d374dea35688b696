"""Labelled examples: stacked inputs and what is true of each, whatever file they come from."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from catalog.labelled.columns import LABEL, label_column, stacked
from catalog.labelled.tables import CLASS_NAMES, read_table, table_files
from catalog.tensor import Arrays
from catalog.texts.labelled_texts import read_labelled
from catalog.variant import Variant

BUILTIN = "builtin"
"""Names the held-out digits."""

FORMS = ".npz, .csv, .tsv (texts and labels), .parquet or .arrow file, or a folder of a Hugging Face data set"


@dataclass(frozen=True)
class LabelledData:
    """``inputs`` are stacked by name, ``labels`` has one entry per row: a class by number or name, or a value.

    ``label_names`` are of integer labels, where the data name them.
    """

    inputs: Arrays
    labels: NDArray[Any]
    label_names: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A digest of the inputs as models get them, whatever columns of whatever file they come from."""
        digest = hashlib.sha256()
        for name, array in sorted(self.inputs.items()):
            digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
            if array.dtype == object:
                for text in array.flat:
                    encoded = text.encode("utf-8", "surrogatepass")
                    digest.update(b"%d " % len(encoded) + encoded)
            else:
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    @property
    def rows(self) -> int:
        """Number of examples."""
        return len(self.labels)

    def first(self, rows: int | None) -> "LabelledData":
        """So many rows from the beginning, all where it is None."""
        if rows is None or rows >= self.rows:
            return self
        inputs = {name: array[:rows] for name, array in self.inputs.items()}
        return LabelledData(inputs, self.labels[:rows], self.label_names)

    def classes(self, variant: Variant, count: int) -> NDArray[np.int64]:
        """The class index of each row, of so many classes; raises `ConfigError` for a label that is no class."""
        labels = self.labels
        if labels.dtype.kind in "iu" and (names := self._names_in(variant)):
            labels = np.array([_named(index, names) for index in labels.tolist()], dtype=object)
        if labels.dtype.kind == "f" and (labels == np.rint(labels)).all():
            labels = labels.astype(np.int64)
        if labels.dtype.kind not in "iuUO" or labels.ndim != 1:
            raise ConfigError(
                f"labels are {labels.dtype} {list(labels.shape)}; a class is a whole number or a name per row; for "
                "values use --metric mean_absolute_error"
            )
        known = {name: index for index, name in enumerate(variant.labels)}
        return np.array([_class(each, row, known, count) for row, each in enumerate(labels.tolist())], np.int64)

    def values(self) -> NDArray[np.float64]:
        """The labels as numbers FP64 [rows, ...]; raises `ConfigError` where they are none."""
        try:
            values = np.array(self.labels.tolist(), np.float64)
        except (ValueError, TypeError) as error:
            raise ConfigError(f"labels are no numbers: {error}; for classes use --metric accuracy") from error
        if not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise ConfigError(f"row {row + 1}: label {self.labels[row]} is no finite number; leave the row out")
        return values

    def _names_in(self, variant: Variant) -> tuple[str, ...]:
        """The variant's names of the classes that the data name, which may be written in other cases.

        None where the variant knows none of them: then numbers are its own. Raises `ConfigError` where it knows some.
        """
        cased = {name.casefold(): name for name in variant.labels}
        own = {name: name for name in variant.labels}
        found = [own.get(name) or cased.get(name.casefold()) for name in self.label_names]
        if not any(found):
            return ()
        names = tuple(name for name in found if name is not None)
        if len(set(names)) < len(self.label_names):
            raise ConfigError(
                f"the data name the classes {', '.join(self.label_names)}, and variant {variant.name!r} has the labels "
                f"{', '.join(variant.labels)}; give both the same names"
            )
        return names


def read_data(
    source: str, variant: Variant, label: str = LABEL, columns: Mapping[str, str] | None = None
) -> LabelledData:
    """Examples that ``variant`` can take, from a file or folder, or `BUILTIN`; raises `ConfigError`.

    ``label`` names the column, or array, with the truth; ``columns`` has the column of inputs that have another name.
    """
    if source == BUILTIN:
        return _digits(variant)
    path = Path(source)
    if not path.exists():
        raise ConfigError(f"there is no {path}; give a {FORMS}, or {BUILTIN}")
    if path.suffix == ".tsv":
        return _texts(path, variant)
    if path.suffix != ".npz" and not table_files(path):
        raise ConfigError(f"{path} is no labelled data that can be read; give a {FORMS}")
    table = read_table(path)
    class_names = table.pop(CLASS_NAMES, {})
    found = label_column(table, label, path)
    inputs, labels = stacked(table, variant, found, columns or {}, path)
    return LabelledData(inputs, labels, class_names.get(found, ()))


def _texts(path: Path, variant: Variant) -> LabelledData:
    if [(spec.datatype, len(spec.shape)) for spec in variant.inputs] != [("BYTES", 1)]:
        found = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in variant.inputs)
        raise ConfigError(
            f"{path} holds texts, and task {variant.task!r} takes {found}; give a .npz, .csv or .parquet file with its "
            "inputs"
        )
    read = read_labelled(path)
    texts = np.array(read.texts, dtype=object)
    return LabelledData({variant.inputs[0].name: texts}, np.array(read.labels))


def _digits(variant: Variant) -> LabelledData:
    from catalog.zoo.digits import SIDE, held_out  # scikit-learn takes a second to import, and only this set needs it

    if [spec.shape for spec in variant.inputs] != [(-1, SIDE, SIDE)]:
        raise ConfigError(
            f"--data {BUILTIN} is the held-out digits, and task {variant.task!r} takes other inputs; give a file"
        )
    images, labels = held_out()
    return LabelledData({variant.inputs[0].name: images}, labels)


def _named(index: int, names: tuple[str, ...]) -> str | int:
    """The name of a label; as it is where it has none, such as -1 of a split that nobody labelled."""
    return names[index] if 0 <= index < len(names) else index


def _class(label: Any, row: int, known: Mapping[str, int], count: int) -> int:
    if isinstance(label, str) and label in known:
        return known[label]
    number = int(label) if isinstance(label, int) or (isinstance(label, str) and label.isdecimal()) else -1
    if not 0 <= number < count:
        names = f" or one of {', '.join(known)}" if known else ""
        raise ConfigError(f"row {row + 1}: label {label!r} is unknown; use a number from 0 to {count - 1}{names}")
    return number
