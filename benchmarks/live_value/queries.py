"""What both are asked: several digits at a time, so that models and not HTTP are what takes time."""

import numpy as np
import orjson

from catalog.zoo.digits import held_out
from serve_app.loadgen.dataset import Dataset


def dataset(rows: int) -> Dataset:
    """A query for each held-out digit, with the ``rows`` - 1 that follow it; its label is that of the first."""
    images, labels = held_out()
    bodies = []
    for first in range(len(images)):
        chosen = images[(first + np.arange(rows)) % len(images)]
        data = chosen.astype(int).ravel().tolist()
        tensor = {"name": "image", "shape": list(chosen.shape), "datatype": "FP32", "data": data}
        bodies.append(orjson.dumps({"inputs": [tensor], "outputs": [{"name": "label"}]}))
    return Dataset(tuple(bodies), tuple(int(label) for label in labels))
