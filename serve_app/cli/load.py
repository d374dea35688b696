"""``accord load``: open-loop load on an endpoint, and a report."""

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from catalog.errors import ConfigError
from serve_app.cli.call import get_object
from serve_app.cli.console import ERR, FAILURE, OUT, exit_codes, print_json
from serve_app.cli.credentials import key_headers
from serve_app.cli.drive import allow_open_files, drive, run_loop
from serve_app.cli.endpoint_data import DatasetName, data_for
from serve_app.cli.options import DEFAULT_ENDPOINT, DEFAULT_URL, YEAR_S, AsJson, EndpointName, SloMs, TimeoutS, Url
from serve_app.loadgen.client import OpenLoopClient
from serve_app.loadgen.dataset import load_dataset
from serve_app.loadgen.endpoint import Endpoint, base_url
from serve_app.loadgen.model_metadata import ModelMetadata
from serve_app.loadgen.render import render
from serve_app.loadgen.report import summarise
from workload.arrivals import PROCESSES, ArrivalOptions, create

DEFAULT_RATE = "50"
DEFAULT_DURATION_S = 30.0


def load(
    url: Url = DEFAULT_URL,
    endpoint: EndpointName = DEFAULT_ENDPOINT,
    dataset: DatasetName = None,
    rate: Annotated[
        str | None,
        typer.Option(help="Queries per second, or steps as in 50:10,400:10,50:10; default 50, or what the trace has."),
    ] = None,
    duration_s: Annotated[
        float | None,
        typer.Option(
            "--duration",
            min=0.1,
            max=YEAR_S,
            help="Seconds; default 30, or the length of the trace or of the steps.",
        ),
    ] = None,
    arrivals: Annotated[str | None, typer.Option(help=f"{', '.join(PROCESSES)}; default poisson, or trace.")] = None,
    shape: Annotated[float, typer.Option(help="Of gamma arrivals: below 1 is burstier than poisson.")] = 0.5,
    trace: Annotated[
        Path | None, typer.Option(help="CSV file, with column arrival_ms or arrival_s, or with time_s, load_qps.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same arrivals.")] = 0,
    slo_ms: SloMs = None,
    timeout_s: TimeoutS = 10.0,
    binary: Annotated[
        bool, typer.Option("--binary", help="Send tensors as bytes behind the JSON, and ask for them so.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Send queries at their own instants, whatever the server does, and report latency, accuracy and variants."""
    with exit_codes(as_json):
        process = arrivals or ("trace" if trace else "poisson")
        chosen_rate = rate if rate or process == "trace" else DEFAULT_RATE
        arriving = create(process, ArrivalOptions(chosen_rate, shape, trace, seed))
        chosen_s = duration_s or (arriving.length_s if math.isfinite(arriving.length_s) else DEFAULT_DURATION_S)
        times_s = arriving.times_s(chosen_s)
        if not len(times_s):
            raise ConfigError(f"no query arrives in {chosen_s:g} s; raise --rate or --duration")
        target = Endpoint(url, endpoint)
        metadata = run_loop(get_object(target.metadata_url, base_url(target.server_url), timeout_s))
        parameters = metadata.get("parameters") or {}
        source = data_for(dataset, metadata, endpoint)
        objective_ms = slo_ms or parameters.get("slo_ms")
        tensors = ModelMetadata.of(metadata)
        data = load_dataset(source, slo_ms, binary=binary, endpoint=tensors)
        why_not = None if data.labels is None else tensors.not_compared(data.labels)
        if why_not is not None:
            ERR.print(Text(why_not, style="yellow"), soft_wrap=True)
        client = OpenLoopClient(
            target.infer_url,
            data,
            timeout_s,
            headers=key_headers(),
            classes=tensors.labels,
            class_output=None if why_not else tensors.class_output,
        )
        allow_open_files()
        run = run_loop(drive(client, times_s, chosen_s))
        report = summarise(run, objective_ms)
        if as_json:
            print_json(report.to_json())
        else:
            OUT.print(render(report))
        if report.lag.warning and as_json:
            ERR.print(report.lag.warning, style="yellow", soft_wrap=True)
        if not report.total.answered:
            raise typer.Exit(FAILURE)
