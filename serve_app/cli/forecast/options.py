"""Options that say which history is meant."""

from typing import Annotated

import typer

SeriesOption = Annotated[
    str | None,
    typer.Option(
        "--series", metavar="FILE_OR_URL", help="CSV or Parquet with requests_per_s; time and endpoint where there are."
    ),
]
EndpointOption = Annotated[str | None, typer.Option("--endpoint", help="Whose load, where the file has several.")]
StartOption = Annotated[
    str | None, typer.Option(metavar="INSTANT", help="When a file without times begins; default: midnight of day 0.")
]
ZerosAreGaps = Annotated[
    bool | None,
    typer.Option("--zeros-are-gaps/--zeros-are-loads", help="Loads of 0 were not observed; default: they were."),
]
