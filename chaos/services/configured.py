"""A service of the user's own: what a Serve config file describes, apart from whatever runs elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.yaml_file import read_yaml
from chaos.services.digits import STATE, first_on_path, own_file_system
from chaos.services.family import family
from chaos.services.idle_answers import classes_of, right_answers
from chaos.services.numbered import numbered
from chaos.services.own_proxy import own_proxy
from chaos.services.under_test import UnderTest
from serve_app.cli.config_file import IMPORT_PATH, LOOPBACK, ServeFile, read_serve_file
from serve_app.loadgen.builtin_data import fitting
from serve_app.loadgen.dataset import Dataset, load_dataset
from serve_app.loadgen.endpoint import Endpoint
from serve_app.testing.free_ports import find_free_port
from serve_app.testing.service import running

CONFIG_FILES = (".yaml", ".yml", ".json")
MOST_QPS = 1000.0
START_WITHIN_S = 1800.0
"""Variants may have to be measured first; a service that cannot be built ends at once."""

CALLERS = ("security", "clients")
"""Of the config's ``args``, what the service under test does without: only this machine reaches it."""


@contextmanager
def configured(config: Path, endpoint: str | None, dataset: str | None, folder: Path) -> Iterator[UnderTest]:
    """`accord run` of ``config`` on ports of its own, with the controller's state in ``folder``, until the block ends.

    Its queries are those of ``dataset``, as `accord load` reads it, to ``endpoint``; None stands for the only endpoint,
    and for the built-in data of its task. It asks nobody for a key. Raises `ConfigError`, and RuntimeError where it
    does not start.
    """
    file, name, data = check(config, endpoint, dataset)
    data = numbered(data)
    content = apart(config, folder / STATE / "controller.db", find_free_port())
    with own_file_system(folder / STATE), own_proxy() as (proxy, proxy_env):
        env = proxy_env | {"PYTHONPATH": first_on_path(config.resolve().parent)}
        with running(content, folder, name, data.bodies[0], env, START_WITHIN_S) as service:
            asked = Endpoint(service.url, name)
            classes = classes_of(asked)
            yield UnderTest(
                str(config),
                service.url,
                name,
                file.app.endpoints[name].slo_ms,
                data,
                folder,
                lambda: family([service.pid], proxy),
                MOST_QPS,
                np.zeros(len(data.bodies), np.bool_) if data.labels is None else right_answers(asked, data, classes),
                classes=classes,
            )


@lru_cache(maxsize=1)
def check(config: Path, endpoint: str | None, dataset: str | None) -> tuple[ServeFile, str, Dataset]:
    """The config, the endpoint and the data that these stand for; raises `ConfigError`.

    What was checked last is kept: a service is started with that, and files of data may be large.
    """
    if config.suffix not in CONFIG_FILES:
        raise ConfigError(f"config {config}; give a file that ends in {', '.join(CONFIG_FILES)}")
    file = read_serve_file(config)
    name = _endpoint(file, endpoint)
    return file, name, _data(file, name, dataset)


def apart(config: Path, state: Path, port: int) -> dict[str, Any]:
    """What a Serve config file holds, changed so that it touches nothing that is there: HTTP on loopback alone at
    ``port``, no gRPC, Accord at the root and its controller's state in the file ``state``, nobody asked for a key."""
    content: dict[str, Any] = read_yaml(config, str(config), "the path of a Serve config file")
    content["http_options"] = {"host": LOOPBACK, "port": port}
    content.pop("grpc_options", None)
    ours = [each for each in content["applications"] if each.get("import_path") == IMPORT_PATH][:1]
    for application in ours:
        given = application.get("args") or {}
        args = {key: value for key, value in given.items() if key not in CALLERS}
        args["controller"] = {**(args.get("controller") or {}), "state": str(state)}
        application |= {"name": "accord", "route_prefix": "/", "args": args}
    content["applications"] = ours
    return content


def _endpoint(file: ServeFile, endpoint: str | None) -> str:
    names = list(file.app.endpoints)
    if endpoint is None and len(names) == 1:
        return names[0]
    if endpoint in names:
        return endpoint
    what = (
        f"{file.path} has {len(names)} endpoints" if endpoint is None else f"{file.path} has no endpoint {endpoint!r}"
    )
    raise ConfigError(f"{what}; give --endpoint one of {', '.join(names)}")


def _data(file: ServeFile, endpoint: str, dataset: str | None) -> Dataset:
    tasks = file.app.endpoints[endpoint].tasks
    task = " > ".join(tasks)
    source = dataset
    if source is None:
        inputs = load_catalogue(file.app.catalogue).of_task(tasks[0])[0].inputs
        source = fitting(task, [spec.oip() for spec in inputs])
    if source is None:
        raise ConfigError(
            f"there is no built-in data set for task {task!r} of endpoint {endpoint!r}; give --dataset a .npz or "
            ".jsonl file, as for accord load"
        )
    return load_dataset(source)
