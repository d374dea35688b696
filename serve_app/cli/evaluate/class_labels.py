"""Catalogue entries that may be classifiers whose classes nobody named."""

from catalog.evaluation.class_outputs import label_output
from catalog.tensor import TensorSpec
from catalog.variant import Variant
from serve_app.build.endpoints.ensembles import ballots_of

ADD_LABELS = "add `labels:` (the names of the classes, such as `labels: [cat, dog]`) to the variants"


def unnamed_classes(variant: Variant) -> TensorSpec | None:
    """The output of a whole number per row that is a class or a value: only ``labels`` would tell; else None."""
    if variant.labels or ballots_of(variant) is not None:
        return None
    return label_output(variant.outputs)
