"""Which data set a command sends to an endpoint."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from catalog.errors import ConfigError
from serve_app.loadgen.builtin_data import BUILTIN, OF_TASK, fitting

DatasetName = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="test (held-out digits), strips (of several), reviews (sentences), or the path of a .npz or .jsonl "
        "file; default: the built-in one for the endpoint's task.",
    ),
]


def data_for(dataset: str | None, metadata: Mapping[str, Any], endpoint: str) -> str:
    """The data set to send to an endpoint that says ``metadata`` of itself (``GET /v2/models/NAME``).

    Raises `ConfigError` where a built-in one is of another task or other inputs, or there is none for it.
    """
    task = (metadata.get("parameters") or {}).get("task", "digits")
    own = fitting(task, metadata.get("inputs") or ())
    chosen = dataset or own
    if chosen is None or (chosen in BUILTIN and chosen != own):
        other = "inputs of another name, datatype or shape" if OF_TASK.get(task) == chosen else "another task"
        what = "no built-in data set" if chosen is None else f"data set {chosen!r} is for {other}"
        remedy = "give --dataset a .npz or .jsonl file" if own is None else f"use {own}, or a file"
        raise ConfigError(f"{what}; endpoint {endpoint!r} does task {task!r}: {remedy}")
    return chosen
