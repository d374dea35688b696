"""Many queries' tensors as one batch's, and back."""

import numpy as np

from catalog.tensor import Arrays
from dispatch.query import Batch


def stack(batch: Batch) -> Arrays:
    """The inputs of all jobs in one array per tensor."""
    first, *others = (job.inputs for job in batch.jobs)
    if not others:
        return dict(first)
    return {name: np.concatenate([values, *(other[name] for other in others)]) for name, values in first.items()}


def unstack(batch: Batch, outputs: Arrays) -> list[Arrays]:
    """Each job's own rows of what came back for the batch."""
    own = []
    row = 0
    for job in batch.jobs:
        end = row + job.rows
        own.append({name: values[row:end] for name, values in outputs.items()})
        row = end
    return own
