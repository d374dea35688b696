"""``accord run``: measure what is not measured yet, start Ray Serve with a config, and stop it with Ctrl-C."""

import http.client
import math
import os
import shutil
import signal
import socket
import sys
import threading
import time
import urllib.parse
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import orjson
import typer

from catalog.errors import ConfigError
from serve_app.cli.config_file import ServeFile, read_serve_file, write_emulated
from serve_app.cli.console import ERR, FAILURE, exit_codes
from serve_app.cli.profile import prepare
from serve_app.cli.run.log_file import LogFile, log_path
from serve_app.cli.run.session import Session
from serve_app.cli.run.start_steps import StartSteps, get
from serve_app.config.reservations import with_light_reservations
from serve_app.loadgen.builtin_data import BUILTIN, OF_TASK
from serve_app.shadowing import refuse_shadows

SERVE_ENV = {
    "RAY_SERVE_ENABLE_HA_PROXY": "1",
    "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "serve_app.http.fast_path.middlewares",
    # HAProxy's four threads would take turns with the router and the workers on a small machine.
    "RAY_SERVE_HAPROXY_NBTHREAD": str(max(1, min(4, (os.cpu_count() or 2) // 2))),
    # One machine and one router: nobody needs half a minute to learn that it is going.
    "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "1",
    # In high-throughput mode replicas write nothing to standard error, and their log files wait for 1000 records:
    # warnings would come neither into the log of `accord run` nor from there to the terminal.
    "RAY_SERVE_REQUEST_PATH_LOG_BUFFER_SIZE": "1",
    "RAY_SERVE_LOG_TO_STDERR": "1",
    # Ray makes workers yield to whatever else runs (niceness 15): a busy shell would then cost deadlines.
    "RAY_worker_niceness": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Serve's high-throughput settings and Accord's short way into it; what the environment sets already stays."""

START_TIMEOUT_S = 180.0


def run(
    config: Annotated[Path, typer.Argument(help="A Serve config file.")] = Path("configs/quickstart.yaml"),
    emulate: Annotated[
        bool, typer.Option("--emulate", help="Run no model: every variant takes the time that its profile says.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show the whole log of Ray and Serve here, instead of writing a file.")
    ] = False,
) -> None:
    """Measure the variants and make their tables once, serve them in high-throughput mode, and print how to query."""
    with exit_codes(as_json=False), TemporaryDirectory(prefix="accord-run-") as folder:
        served = write_emulated(config, Path(folder)) if emulate else config
        file = replace(read_serve_file(served), path=config)
        serve = shutil.which("serve", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
        if serve is None:
            raise ConfigError(
                "the `serve` command of Ray is not installed; run `make run`, or `pip install 'ray[serve]'`"
            )
        _refuse_taken_port(file)
        _refuse_too_few_cpus(file)
        refuse_shadows({config.resolve().parent, Path.cwd()})
        sys.path[:0] = module_folders(file)
        prepare(file)
        stopping = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: stopping.set())
        with ExitStack() as stack:
            output = log = None
            if not verbose:
                path = log_path(urllib.parse.urlsplit(file.url).port or 0)
                output = stack.enter_context(path.open("wb"))
                log = stack.enter_context(LogFile(path))
            session = Session([serve, "run", str(served)], SERVE_ENV | os.environ | module_paths(file), output)
            raise typer.Exit(_supervise(session, file, stopping, log))


def module_folders(file: ServeFile) -> list[str]:
    """Where modules of one's own are found: beside the config, and in the current folder."""
    return list(dict.fromkeys([str(file.path.resolve().parent), str(Path.cwd())]))


def module_paths(file: ServeFile) -> dict[str, str]:
    """For the environment of every process that is started, in front of what it has."""
    given = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([*module_folders(file), *([given] if given else [])])}


def _supervise(service: Session, file: ServeFile, stopping: threading.Event, log: LogFile | None) -> int:
    """Wait until the service ends or is to be stopped, and leave nothing of it behind; gives the exit code."""
    steps = StartSteps(file.url, sum(pool.workers for pool in file.app.pools.values()))
    steps.say("Starting Ray and Serve" + ("" if log is None else f" (log: {log.path})"))
    try:
        deadline_s = time.monotonic() + START_TIMEOUT_S
        ready = False
        for task in {" > ".join(endpoint.tasks) for endpoint in file.app.endpoints.values()} & OF_TASK.keys():
            _example_image(OF_TASK[task])  # while the service starts: once it is ready, it needs the cores itself
        while service.poll() is None and not stopping.wait(0.3):
            if log is not None:
                log.print_warnings()
            if not ready:
                ready = _print_if_ready(file.url, steps)
            if not ready:
                steps.look()
            if not ready and time.monotonic() > deadline_s:
                _print_failure(f"The service was not ready after {START_TIMEOUT_S:.0f} s", log)
                return FAILURE
        if not stopping.is_set():
            _print_failure("The service ended by itself", log)
        return 0 if stopping.is_set() else service.poll() or FAILURE
    finally:
        ERR.print("Stopping...")
        service.stop()
        ERR.print("Stopped.")


def _refuse_taken_port(file: ServeFile) -> None:
    """Ray Serve would wait for ever for a port that somebody else holds."""
    address = urllib.parse.urlsplit(file.url)
    with socket.socket() as probe:
        probe.settimeout(2)
        taken = probe.connect_ex((address.hostname, address.port)) == 0
    if taken:
        where = f"{address.hostname}:{address.port}"
        raise ConfigError(
            f"{where} is taken already; stop what listens there or change http_options.port in {file.path}"
        )


def _refuse_too_few_cpus(file: ServeFile) -> None:
    """Ray Serve would wait for ever for CPUs that a cluster of this machine alone does not have."""
    app = with_light_reservations(file.app)
    pools = app.pools.values()
    needed = app.routers * app.router_num_cpus + app.controller.num_cpus
    needed += sum(pool.workers * pool.num_cpus for pool in pools)
    there = os.cpu_count() or 1
    if "RAY_ADDRESS" not in os.environ and needed > there:
        raise ConfigError(
            f"{file.path} asks Ray for {needed:g} CPUs (router_num_cpus and every pool's workers x num_cpus), and this "
            f"machine has {there}; lower them (shares such as 0.5 are fine), or set RAY_ADDRESS to a larger cluster"
        )


def _print_failure(what: str, log: LogFile | None) -> None:
    ERR.print(f"[red]{what}; see its messages {'above' if log is None else 'below'}.[/]")
    if log is not None:
        log.print_tail()


def _print_if_ready(url: str, steps: StartSteps) -> bool:
    """The URL, and one line that works as printed; False, printing nothing, while the service cannot answer."""
    try:
        get(f"{url}/v2/health/ready")
        endpoint = next(iter(get(f"{url}/accord/status")["endpoints"]))
        metadata = get(f"{url}/v2/models/{endpoint}")
    except (OSError, http.client.HTTPException, ValueError):
        return False
    steps.say("Ready")
    task = metadata["parameters"]["task"]
    body = orjson.dumps({"inputs": [_example(task, spec) for spec in metadata["inputs"]]}).decode()
    emulated = metadata["parameters"].get("emulated")
    how = f", [bold yellow]emulated[/] ({', '.join(emulated)}: no model runs, answers mean nothing)" if emulated else ""
    ERR.print(f"\nAccord serves [bold]{endpoint}[/] on [bold]{url}[/] (OpenAPI page: {url}/docs){how}. Try:\n")
    print(f"curl -s {url}/v2/models/{endpoint}/infer -d '{body}'", flush=True)
    data = "" if task in OF_TASK else " --dataset FILE.npz"
    load = f"{sys.argv[0]} load --endpoint {endpoint}{data} --rate 50 --duration 30"
    ERR.print(f"\nLoad it: [bold]{load}[/]. Ctrl-C stops everything.\n", soft_wrap=True)
    return True


@cache
def _example_image(dataset: str) -> list[int]:
    images, _ = BUILTIN[dataset]()
    pixels: list[int] = images["image"][0].astype(int).ravel().tolist()
    return pixels


def _example(task: str, spec: dict[str, Any]) -> dict[str, Any]:
    """One item for an input: a handwritten digit for the built-in task, zeros or a word for others."""
    shape = [1, *spec["shape"][1:]]
    if spec["datatype"] == "BYTES":
        data: list[Any] = ["a fine day"]
    elif task in OF_TASK and spec["name"] == "image":
        data = _example_image(OF_TASK[task])
    else:
        data = [0] * math.prod(shape)
    return {"name": spec["name"], "shape": shape, "datatype": spec["datatype"], "data": data}
