"""Many queries' tensors as one batch's, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from catalog.lengths import LengthRule
from catalog.tensor import Arrays
from dispatch.query import Batch


def stack(batch: Batch, rule: LengthRule | None = None) -> Arrays:
    """The inputs of all jobs in one array per tensor.

    With a ``rule`` they may be of different lengths: shorter ones are padded to the longest, and the mask is of ones
    for a job's own elements where it brings none. Texts stay as they are: whoever makes tokens of them pads them.
    """
    given = [job.inputs for job in batch.jobs]
    if rule is None or rule.text is not None:
        return _together(given)
    varying = {spec.name for spec in (*rule.inputs, *([] if rule.mask is None else [rule.mask]))}
    stacked = _together([{name: own[name] for name in own if name not in varying} for own in given])
    return stacked | rule.padded(given)


def unstack(batch: Batch, outputs: Arrays, rule: LengthRule | None = None) -> list[Arrays]:
    """Each job's own rows of what came back for the batch, cut to the job's length where they were padded."""
    cut = {} if rule is None else {spec.name: spec.length_axis for spec in rule.outputs}
    own = []
    row = 0
    for job in batch.jobs:
        end = row + job.rows
        part = {name: values[row:end] for name, values in outputs.items()}
        for name, axis in cut.items():
            assert axis is not None
            part[name] = part[name][(slice(None),) * axis + (slice(job.length),)]
        own.append(part)
        row = end
    return own


def _together(given: Sequence[Any]) -> Arrays:
    first, *others = given
    if not others:
        return dict(first)
    return {name: np.concatenate([values, *(other[name] for other in others)]) for name, values in first.items()}
