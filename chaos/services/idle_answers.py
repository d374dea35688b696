"""What a service answers while it has nothing else to do."""

import json
import urllib.request
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serve_app.loadgen.answer import read_answer
from serve_app.loadgen.dataset import Dataset
from serve_app.loadgen.endpoint import Endpoint
from serve_app.loadgen.same_class import same_class

WAIT_S = 30.0


def classes_of(endpoint: Endpoint) -> tuple[str, ...]:
    """The names of its classes, by its metadata; none where it tells none. Raises OSError where it cannot be asked."""
    with urllib.request.urlopen(endpoint.metadata_url, timeout=WAIT_S) as response:
        metadata: dict[str, Any] = json.load(response)
    return tuple((metadata.get("parameters") or {}).get("labels") or ())


def right_answers(endpoint: Endpoint, data: Dataset, classes: tuple[str, ...]) -> NDArray[np.bool_]:
    """Row by row whether it answers rightly when asked one query after the other, as an idle service does at its best.

    False where a row has no label. Raises OSError where it does not answer.
    """
    return np.array([_right(endpoint, data, row, classes) for row in range(len(data.bodies))], dtype=np.bool_)


def _right(endpoint: Endpoint, data: Dataset, row: int, classes: tuple[str, ...]) -> bool:
    label = data.label(row)
    if label is None:
        return False
    request = urllib.request.Request(endpoint.infer_url, data.bodies[row], {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=WAIT_S) as response:
        answer = read_answer(response.status, response.read())
    return answer.label is not None and same_class(label, answer.label, classes)
