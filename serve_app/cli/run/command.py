"""``accord run``: measure what is not measured yet, start Ray Serve with a config, and stop it with Ctrl-C."""

import http.client
import math
import os
import signal
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import orjson
import typer
from rich.markup import escape

from catalog.errors import ConfigError
from catalog.machine_type import cpus_there
from serve_app.cli.config_file import ServeFile, read_serve_file, write_served
from serve_app.cli.console import ERR, FAILURE, exit_codes
from serve_app.cli.options import DEFAULT_URL
from serve_app.cli.profile import prepare
from serve_app.cli.run.environment import OWN_CLUSTER_ENV, SERVE_ENV, grpc_env, installed, proxy_env
from serve_app.cli.run.inner_ports import inner_ports
from serve_app.cli.run.listening import (
    curl_option,
    hold_ports,
    outer_ports,
    refuse_ports,
    refuse_unsafe,
    watching_headers,
)
from serve_app.cli.run.log_file import LogFile, log_folder, log_path
from serve_app.cli.run.session import Session
from serve_app.cli.run.start_steps import StartSteps, get
from serve_app.config.reservations import with_light_reservations
from serve_app.loadgen.builtin_data import BUILTIN, INPUTS, OF_TASK, fitting
from serve_app.oip.request import ONLY_BINARY
from serve_app.shadowing import refuse_shadows

CONFIGS = (Path("serve.yaml"), Path("configs/quickstart.yaml"))
"""What is served where no config is named: the project of the current folder, or Accord's own example."""

START_TIMEOUT_S = 180.0

INSTALL_TIMEOUT_S = 1200.0
"""Where Ray has to install packages for the workers first."""


def run(
    config: Annotated[
        Path | None, typer.Argument(help=r"A Serve config file. \[default: serve.yaml, else configs/quickstart.yaml]")
    ] = None,
    emulate: Annotated[
        bool, typer.Option("--emulate", help="Run no model: every variant takes the time that its profile says.")
    ] = False,
    host: Annotated[
        str | None, typer.Option(help="Listen on this host instead of http_options.host; 0.0.0.0 is everywhere.")
    ] = None,
    grpc_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Serve gRPC on this port instead of grpc_options.port; 0: none."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show the whole log of Ray and Serve here, instead of writing a file.")
    ] = False,
) -> None:
    """Measure the variants and make their tables once, serve them in high-throughput mode, and print how to query."""
    with exit_codes(as_json=False), TemporaryDirectory(prefix="accord-run-") as folder, ExitStack() as held:
        config = config or next((path for path in CONFIGS if path.exists()), CONFIGS[0])
        served = write_served(config, Path(folder), emulate=emulate, host=host, grpc_port=grpc_port)
        file = replace(read_serve_file(served), path=config)
        refuse_unsafe(file)
        serve = installed("serve", "pip install 'ray[serve]'")
        proxy = proxy_env()
        refuse_ports(file)
        hold_ports(file, held)
        _refuse_too_few_cpus(file)
        folders = module_folders(file)
        refuse_shadows(map(Path, folders))
        if not verbose:
            log_folder()  # before half a minute of measuring
        sys.path[:0] = folders
        prepare(file)
        stopping = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: stopping.set())
        with ExitStack() as stack:
            output = log = None
            if not verbose:
                path = log_path(outer_ports(file)[0])
                output = stack.enter_context(path.open("wb"))
                log = stack.enter_context(LogFile(path))
            own = {}
            if "RAY_ADDRESS" not in os.environ:
                own = OWN_CLUSTER_ENV | stack.enter_context(inner_ports(os.environ, outer_ports(file)))
            env = SERVE_ENV | grpc_env(file) | proxy | own | os.environ | module_paths(file)
            session = Session([serve, "run", str(served)], env, output)
            raise typer.Exit(_supervise(session, file, stopping, log))


def module_folders(file: ServeFile) -> list[str]:
    """Where modules of one's own are found: beside the config, unless it is a pipe, and in the current folder."""
    piped = file.path.exists() and not file.path.is_file()
    return list(dict.fromkeys([*([] if piped else [str(file.path.resolve().parent)]), str(Path.cwd())]))


def module_paths(file: ServeFile) -> dict[str, str]:
    """For the environment of every process that is started, in front of what it has."""
    given = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([*module_folders(file), *([given] if given else [])])}


def _supervise(service: Session, file: ServeFile, stopping: threading.Event, log: LogFile | None) -> int:
    """Wait until the service ends or is to be stopped, and leave nothing of it behind; gives the exit code."""
    headers = watching_headers(file.app.security)
    steps = StartSteps(file.url, sum(pool.workers for pool in file.app.pools.values()), headers=headers)
    ready = False
    steps.say("Starting Ray and Serve" + ("" if log is None else f" (log: {log.path})"))
    try:
        installs = any(pool.runtime_env for pool in file.app.pools.values())
        within_s = INSTALL_TIMEOUT_S if installs else START_TIMEOUT_S
        deadline_s = time.monotonic() + within_s
        tasks = {" > ".join(endpoint.tasks) for endpoint in file.app.endpoints.values()}
        for data in {OF_TASK[task] for task in tasks if task in OF_TASK and INPUTS[OF_TASK[task]].name == "image"}:
            _example_image(data)  # while the service starts: once it is ready, it needs the cores itself
        while service.poll() is None and not stopping.wait(0.3):
            if log is not None:
                log.print_warnings()
            if not ready:
                ready = _print_if_ready(file, steps)
                if ready:
                    service.let_observers_yield()
            if not ready:
                steps.look()
            if not ready and log is not None and log.given_up:
                _print_failure("The application could not be built", log)
                return FAILURE
            if not ready and time.monotonic() > deadline_s:
                _print_failure(f"The service was not ready after {within_s:.0f} s", log)
                return FAILURE
        if not stopping.is_set():
            _print_failure("The service ended by itself", log)
        return 0 if stopping.is_set() else service.poll() or FAILURE
    finally:
        ERR.print("Stopping...")
        if ready:
            service.finish_open_queries()
        service.stop()
        ERR.print("Stopped.")


def _refuse_too_few_cpus(file: ServeFile) -> None:
    """Ray Serve would wait for ever for CPUs that a cluster of this machine alone does not have."""
    app = with_light_reservations(file.app)
    pools = app.pools.values()
    needed = app.routers * app.router_num_cpus + app.controller.num_cpus
    needed += sum(pool.workers * pool.num_cpus for pool in pools)
    there = cpus_there()
    if "RAY_ADDRESS" not in os.environ and needed > there:
        raise ConfigError(
            f"{file.path} asks Ray for {needed:g} CPUs (router_num_cpus and every pool's workers x num_cpus), and this "
            f"machine has {there}; lower them (shares such as 0.5 are fine), or set RAY_ADDRESS to a larger cluster"
        )


def _print_failure(what: str, log: LogFile | None) -> None:
    ERR.print(f"[red]{what}; see its messages {'above' if log is None else 'below'}.[/]")
    if log is not None:
        log.print_tail()


def _print_if_ready(file: ServeFile, steps: StartSteps) -> bool:
    """The URL, and the lines of `to_try`; False, printing nothing, while the service cannot answer."""
    url, endpoint, security = file.url, next(iter(file.app.endpoints)), file.app.security
    try:
        get(f"{url}/v2/health/ready")
        if steps.headers is None:
            steps.say(f"Ready: {endpoint} on {url}; only callers with a token are served")
            return True
        metadata = get(f"{url}/v2/models/{endpoint}", steps.headers)
    except (OSError, http.client.HTTPException, ValueError):
        return False
    steps.say("Ready")
    emulated = metadata["parameters"].get("emulated")
    names = escape(", ".join(emulated or ()))
    how = f", [bold yellow]emulated[/] ({names}: no model runs, answers mean nothing)" if emulated else ""
    grpc = "" if file.grpc_port is None else f", gRPC on port {file.grpc_port}"
    ERR.print(f"\nAccord serves [bold]{endpoint}[/] on [bold]{url}[/] (OpenAPI page: {url}/docs{grpc}){how}. Try:\n")
    asking, loading = to_try(url, endpoint, metadata, curl_option(security))
    print(asking, flush=True)
    load = "" if loading is None else f"Load it: [bold]{escape(loading)}[/]. "
    ERR.print(f"\n{load}Ctrl-C stops everything.\n", soft_wrap=True)
    return True


def to_try(url: str, endpoint: str, metadata: dict[str, Any], curl: str) -> tuple[str, str | None]:
    """A line that asks an endpoint once, and one that loads it, None where nothing can.

    The first is one of curl, with these options, that works as printed where JSON can hold inputs and outputs.
    """
    task, inputs = metadata["parameters"]["task"], metadata["inputs"]
    in_bytes = any(spec["datatype"] in ONLY_BINARY for spec in [*inputs, *metadata["outputs"]])
    if any(spec["datatype"] == "BF16" for spec in inputs):
        return "# BF16 is neither in JSON nor in .npz files: send tensors as bytes (docs/http-api.md)", None
    where = f" --endpoint {endpoint}" + ("" if url == DEFAULT_URL else f" --url {url}")
    data = "" if fitting(task, inputs) else " --dataset FILE.npz"
    data += " --binary" if in_bytes else ""
    loading = f"{sys.argv[0]} load{where}{data} --rate 50 --duration 30"
    if in_bytes:
        return f"{sys.argv[0]} query{where}{data}", loading
    body = orjson.dumps({"inputs": [_example(task, spec) for spec in inputs]}).decode()
    return f"curl -s{curl} {url}/v2/models/{endpoint}/infer -d '{body}'", loading


@cache
def _example_image(dataset: str) -> list[int]:
    images, _ = BUILTIN[dataset]()
    pixels: list[int] = images["image"][0].astype(int).ravel().tolist()
    return pixels


def _example(task: str, spec: dict[str, Any]) -> dict[str, Any]:
    """One item for an input: a handwritten digit for the built-in task, zeros or a word for others."""
    shape = [1, *(max(axis, 1) for axis in spec["shape"][1:])]
    if spec["datatype"] == "BYTES":
        data: list[Any] = ["a fine day"] * math.prod(shape)
    elif (images := fitting(task, [spec])) is not None:
        data = _example_image(images)
    else:
        data = [False if spec["datatype"] == "BOOL" else 0] * math.prod(shape)
    return {"name": spec["name"], "shape": shape, "datatype": spec["datatype"], "data": data}
