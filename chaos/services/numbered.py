"""Queries with an id each, so that an answer to another query is seen."""

import orjson

from serve_app.loadgen.dataset import Dataset

ROWS = 500
"""So few that each is sent often enough to compare its answers."""


def numbered(data: Dataset, rows: int = ROWS) -> Dataset:
    """The first ``rows`` requests of a data set in JSON, each with an id in place of its own, if it has one."""
    ids = tuple(f"row-{row}" for row in range(min(rows, len(data.bodies))))
    bodies = tuple(orjson.dumps({**orjson.loads(body), "id": own}) for body, own in zip(data.bodies, ids, strict=False))
    return Dataset(bodies, None if data.labels is None else data.labels[: len(ids)], ids, data.of_emulated)
