"""``accord query``: one query, and what became of it."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table
from rich.text import Text

from catalog.errors import ConfigError
from serve_app.cli.call import AS_JSON, CallFailed, Reply, call, get_object
from serve_app.cli.console import ERR, OUT, exit_codes, print_json
from serve_app.cli.endpoint_data import DatasetName, data_for
from serve_app.cli.options import DEFAULT_ENDPOINT, DEFAULT_URL, AsJson, EndpointName, SloMs, TimeoutS, Url
from serve_app.loadgen.answer import Answer, read_answer, read_response
from serve_app.loadgen.dataset import Label, check_source, encode_request, load_dataset
from serve_app.loadgen.endpoint import Endpoint, base_url
from serve_app.loadgen.model_metadata import ModelMetadata
from serve_app.loadgen.same_class import same_class

LONGEST_OUTPUT = 10
"""Numbers printed of one output tensor; --json has them all."""


def query(
    url: Url = DEFAULT_URL,
    endpoint: EndpointName = DEFAULT_ENDPOINT,
    index: Annotated[int | None, typer.Option(min=0, help="Which item of the data set to send; default 0.")] = None,
    dataset: DatasetName = None,
    file: Annotated[
        str | None, typer.Option(help="File with a JSON request to send instead; - is standard input.")
    ] = None,
    binary: Annotated[
        bool, typer.Option("--binary", help="Send tensors as bytes behind the JSON, and ask for them so.")
    ] = False,
    slo_ms: SloMs = None,
    timeout_s: TimeoutS = 10.0,
    as_json: AsJson = False,
) -> None:
    """Send one query and print the answer, the variant that gave it, and whether it met its deadline."""
    with exit_codes(as_json):
        if index is not None and file is not None:
            raise ConfigError(f"--index {index} and --file {file} both say what to send; give one of them")
        if dataset is not None and file is not None:
            raise ConfigError(f"--dataset {dataset} and --file {file} both say what to send; give one of them")
        target = Endpoint(url, endpoint)
        headers: Mapping[str, str] = AS_JSON
        tensors = ModelMetadata()
        if file is None:
            if dataset is not None:
                check_source(dataset, binary=binary)
            metadata = _metadata(target, timeout_s)
            tensors = ModelMetadata.of(metadata)
            source = data_for(dataset, metadata, target.name)
            body, label, headers = _item(source, index or 0, slo_ms, binary, tensors)
        elif binary:
            raise ConfigError("--binary with --file, which is sent as it is; leave one of them out")
        else:
            body, label = _from_file(file, slo_ms)
            if label is not None:
                tensors = ModelMetadata.of(_metadata(target, timeout_s))
        why_not = None if label is None else tensors.not_compared([label])
        if why_not is not None:
            ERR.print(Text(why_not, style="yellow"), soft_wrap=True)
        reply, took_ms = asyncio.run(_timed_call(target, body, headers, timeout_s))
        class_output = None if label is None or why_not else tensors.class_output
        answer = read_answer(reply.status, reply.content, reply.json_bytes, class_output)
        if answer.error is not None:
            raise CallFailed(f"{base_url(url)} answered {reply.status} ({answer.error_kind}): {answer.error}")
        response = read_response(reply.content, reply.json_bytes)
        correct = _correct(answer, label, tensors.labels)
        if as_json:
            print_json(_summary(answer, label, correct, took_ms) | {"response": response})
        else:
            OUT.print(_table(answer, label, correct, took_ms, response))


def _metadata(target: Endpoint, timeout_s: float) -> dict[str, Any]:
    return asyncio.run(get_object(target.metadata_url, base_url(target.server_url), timeout_s))


def _item(
    source: str, index: int, slo_ms: float | None, binary: bool, endpoint: ModelMetadata
) -> tuple[bytes, Label | None, Mapping[str, str]]:
    """The body, the label and the headers of an item."""
    dataset = load_dataset(source, slo_ms, binary=binary, endpoint=endpoint)
    if index >= len(dataset.bodies):
        raise ConfigError(f"--index {index}; data set {source!r} has items 0 to {len(dataset.bodies) - 1}")
    return dataset.bodies[index], dataset.label(index), dataset.headers(index) or AS_JSON


def _from_file(file: str, slo_ms: float | None) -> tuple[bytes, Label | None]:
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return encode_request(orjson.loads(content), slo_ms)
    except OSError as error:
        raise ConfigError(f"cannot read request {file}: {error.strerror}; give the path of a JSON file") from error
    except (orjson.JSONDecodeError, ConfigError) as error:
        raise ConfigError(f"request {file}: {error}") from error


async def _timed_call(
    endpoint: Endpoint, body: bytes, headers: Mapping[str, str], timeout_s: float
) -> tuple[Reply, float]:
    start_s = time.perf_counter()
    reply = await call(endpoint.infer_url, base_url(endpoint.server_url), timeout_s, body, headers=headers)
    return reply, (time.perf_counter() - start_s) * 1e3


def _correct(answer: Answer, label: Label | None, classes: Sequence[str]) -> bool | None:
    """None where that cannot be told."""
    if label is None or answer.label is None or answer.emulated:
        return None
    return same_class(label, answer.label, classes)


def _summary(answer: Answer, label: Label | None, correct: bool | None, took_ms: float) -> dict[str, Any]:
    return {
        "label": answer.label,
        "true_label": label,
        "correct": correct,
        "variant": answer.variant,
        "emulated": answer.emulated,
        "expected_accuracy": answer.expected_accuracy,
        "round_trip_ms": took_ms,
        "deadline_met": answer.deadline_met,
    }


def _table(
    answer: Answer, label: Label | None, correct: bool | None, took_ms: float, response: dict[str, Any]
) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    if answer.label is not None:
        truth = "" if correct is None else " (correct)" if correct else f" (truly {label})"
        table.add_row("label", Text(f"{answer.label}{truth}"))
    for output in response["outputs"]:
        if output["name"] != "label":
            shown = ", ".join(map(str, output["data"][:LONGEST_OUTPUT]))
            table.add_row(
                Text(output["name"]), Text(f"{shown}{', ...' if len(output['data']) > LONGEST_OUTPUT else ''}")
            )
    table.add_row("variant", Text(answer.variant or "-"))
    if answer.emulated:
        table.add_row("emulated", Text("no model ran, and the outputs mean nothing", style="yellow"))
    if answer.expected_accuracy is not None:
        table.add_row("accuracy", f"{100 * answer.expected_accuracy:.1f}% expected")
    server_ms = response.get("parameters", {}).get("latency_ms")
    at_server = "" if server_ms is None else f", {server_ms:.1f} ms of it in the server"
    table.add_row("latency", f"{took_ms:.1f} ms{at_server}")
    if answer.deadline_met is not None:
        table.add_row("deadline", "met" if answer.deadline_met else "missed")
    return table
