"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from serve_app.oip.parameters import LONGEST_S

YEAR_S = 366 * 86_400.0
"""The most that options in seconds may be: infinity is no time to wait."""

Url = Annotated[str, typer.Option(help="Address of the server.")]
EndpointName = Annotated[str, typer.Option("--endpoint", help="Endpoint to ask.")]
TimeoutS = Annotated[
    float,
    typer.Option("--timeout", min=0.001, max=LONGEST_S, help="Seconds to wait for an answer."),
]
SloMs = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        max=LONGEST_S * 1e3,
        help="Latency objective of the query; default: the endpoint's.",
    ),
]
Config = Annotated[
    Path | None, typer.Option(help="A Serve config file, whose `artifacts` say which model files may be had.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]

DEFAULT_URL = "http://127.0.0.1:8000"
DEFAULT_ENDPOINT = "digits"
