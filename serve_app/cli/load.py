"""``accord load``: open-loop load on an endpoint, and a report."""

import math
from pathlib import Path
from typing import Annotated

import typer

from catalog.errors import ConfigError
from serve_app.cli.call import get_object
from serve_app.cli.console import ERR, FAILURE, OUT, exit_codes, print_json
from serve_app.cli.drive import allow_open_files, drive, run_loop
from serve_app.cli.options import DEFAULT_ENDPOINT, DEFAULT_URL, AsJson, EndpointName, SloMs, TimeoutS, Url
from serve_app.loadgen.client import OpenLoopClient
from serve_app.loadgen.dataset import load_dataset
from serve_app.loadgen.endpoint import Endpoint, base_url
from serve_app.loadgen.render import render
from serve_app.loadgen.report import summarise
from workload.arrivals import PROCESSES, ArrivalOptions, create
from workload.rate import RateSchedule

DEFAULT_RATE = "50"
DEFAULT_DURATION_S = 30.0


def load(
    url: Url = DEFAULT_URL,
    endpoint: EndpointName = DEFAULT_ENDPOINT,
    dataset: Annotated[
        str, typer.Option(help="test (held-out digits), or the path of a .npz or .jsonl file.")
    ] = "test",
    rate: Annotated[
        str | None,
        typer.Option(help="Queries per second, or steps as in 50:10,400:10,50:10; default 50, or what the trace has."),
    ] = None,
    duration_s: Annotated[
        float | None, typer.Option("--duration", min=0.1, help="Seconds; default 30, or the sum of the rate steps.")
    ] = None,
    arrivals: Annotated[str | None, typer.Option(help=f"{', '.join(PROCESSES)}; default poisson, or trace.")] = None,
    shape: Annotated[float, typer.Option(help="Of gamma arrivals: below 1 is burstier than poisson.")] = 0.5,
    trace: Annotated[
        Path | None, typer.Option(help="CSV file, with column arrival_ms or with time_s, load_qps.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same arrivals.")] = 0,
    slo_ms: SloMs = None,
    timeout_s: TimeoutS = 10.0,
    as_json: AsJson = False,
) -> None:
    """Send queries at their own instants, whatever the server does, and report latency, accuracy and variants."""
    with exit_codes(as_json):
        process = arrivals or ("trace" if trace else "poisson")
        chosen_rate = rate if rate or process == "trace" else DEFAULT_RATE
        chosen_s = duration_s or _length_s(chosen_rate)
        times_s = create(process, ArrivalOptions(chosen_rate, shape, trace, seed)).times_s(chosen_s)
        if not len(times_s):
            raise ConfigError(f"no query arrives in {chosen_s:g} s; raise --rate or --duration")
        target = Endpoint(url, endpoint)
        objective_ms = slo_ms or run_loop(_fetch_slo_ms(target, timeout_s, dataset))
        client = OpenLoopClient(target.infer_url, load_dataset(dataset, slo_ms), timeout_s)
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


def _length_s(rate: str | None) -> float:
    length_s = RateSchedule.parse(rate).length_s if rate else math.inf
    return length_s if math.isfinite(length_s) else DEFAULT_DURATION_S


async def _fetch_slo_ms(endpoint: Endpoint, timeout_s: float, dataset: str) -> float | None:
    """The endpoint's own objective, None where its metadata names none; refuses digits for another task."""
    metadata = await get_object(endpoint.metadata_url, base_url(endpoint.server_url), timeout_s)
    parameters = metadata.get("parameters") or {}
    task = parameters.get("task", "digits")
    if dataset == "test" and task != "digits":
        raise ConfigError(
            f"data set 'test' holds digits, and endpoint {endpoint.name!r} does task {task!r}; "
            "give --dataset a .npz or .jsonl file"
        )
    slo_ms = parameters.get("slo_ms")
    return None if slo_ms is None else float(slo_ms)
