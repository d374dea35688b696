"""What a service answers while it has nothing else to do."""

import json
import time
import urllib.request
from typing import Any
from urllib.error import HTTPError

import numpy as np
from numpy.typing import NDArray

from serve_app.loadgen.answer import read_answer
from serve_app.loadgen.dataset import Dataset
from serve_app.loadgen.endpoint import Endpoint
from serve_app.loadgen.same_class import same_class
from serve_app.testing.fetch import fetch

OK = 200
WAIT_S = 30.0
ATTEMPTS, AGAIN_S = 2, 0.2
"""A row whose answer is an error is sent once more so long after it: the service may have been busy for a moment."""


def classes_of(endpoint: Endpoint) -> tuple[str, ...]:
    """The names of its classes, by its metadata; none where it tells none. Raises OSError where it cannot be asked."""
    metadata: dict[str, Any] = json.loads(fetch(endpoint.metadata_url, WAIT_S))
    return tuple((metadata.get("parameters") or {}).get("labels") or ())


def right_answers(endpoint: Endpoint, data: Dataset, classes: tuple[str, ...]) -> NDArray[np.bool_]:
    """Row by row whether it answers rightly when asked one query after the other, as an idle service does at its best.

    False where a row has no label, and where it answers with an error twice. Raises OSError where it does not answer.
    """
    return np.array([_right(endpoint, data, row, classes) for row in range(len(data.bodies))], dtype=np.bool_)


def _right(endpoint: Endpoint, data: Dataset, row: int, classes: tuple[str, ...]) -> bool:
    label = data.label(row)
    if label is None:
        return False
    request = urllib.request.Request(endpoint.infer_url, data.bodies[row], {"Content-Type": "application/json"})
    for _ in range(ATTEMPTS):
        try:
            answer = read_answer(OK, fetch(request, WAIT_S))
        except HTTPError:
            time.sleep(AGAIN_S)
        else:
            return answer.label is not None and same_class(label, answer.label, classes)
    return False
