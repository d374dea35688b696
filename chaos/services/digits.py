"""The digits on two workers: real models, on a copy of their files."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from catalog.catalogue import BUILTIN
from chaos.services.family import family
from chaos.services.models import right
from chaos.services.numbered import numbered
from chaos.services.own_proxy import own_proxy
from chaos.services.under_test import UnderTest
from serve_app.loadgen.dataset import load_dataset
from serve_app.testing.free_ports import find_free_port
from serve_app.testing.service import running

CONFIG = Path(__file__).with_name("digits.yaml")
ENDPOINT = "digits"
BEST = "digits-cnn-xl"
"""The most accurate variant of the config."""

ZOO, STATE = "zoo", "state"
"""In the folder of the service: its models, and what its controller keeps."""

CLOCK = "clock"
"""Detail of a service that has a clock of its own: the file that shifts it."""

STATE_MIB = 16
"""Size of the file system of the state, where one may be mounted."""

SHIFTED_CLOCK = Path(__file__).parents[1] / "shifted_clock"
MOST_QPS = 300.0
START_WITHIN_S = 240.0


@contextmanager
def digits(name: str, folder: Path, changes: Mapping[str, Any], own_clock: bool = False) -> Iterator[UnderTest]:
    """`accord run` with ``changes`` to the ``args`` of the shipped config, until the block ends.

    Its state is on a small file system of its own where one may be mounted. With ``own_clock`` its wall clock can be
    shifted. Raises RuntimeError where it does not start.
    """
    content = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    args = content["applications"][0]["args"]
    args |= {"catalogue": str(copied_models(folder)), **changes}
    args["controller"] |= {"state": str(folder / STATE / "controller.db")}
    content["http_options"]["port"] = find_free_port()
    data = numbered(load_dataset("test"))
    clock = folder / "clock"
    env = {"ACCORD_SHIFTED_CLOCK": str(clock), "PYTHONPATH": first_on_path(SHIFTED_CLOCK)} if own_clock else {}
    with (
        own_file_system(folder / STATE),
        own_proxy() as (proxy, proxy_env),
        running(content, folder, ENDPOINT, data.bodies[0], proxy_env | env, START_WITHIN_S) as service,
    ):
        yield UnderTest(
            name,
            service.url,
            ENDPOINT,
            float(args["endpoints"][ENDPOINT]["slo_ms"]),
            data,
            folder,
            lambda: family([service.pid], proxy),
            MOST_QPS,
            right(BEST, len(data.bodies)),
            {CLOCK: clock} if own_clock else {},
        )


def copied_models(folder: Path) -> Path:
    """The built-in catalogue with its models in the folder, so that an experiment may spoil them; gives its file."""
    target = folder / ZOO
    shutil.copytree(BUILTIN.parent, target, ignore=shutil.ignore_patterns("*.py", "__pycache__", "sentiment"))
    return target / BUILTIN.name


@contextmanager
def own_file_system(folder: Path) -> Iterator[None]:
    """A folder, with a small tmpfs mounted there until the block ends where this process has the right to."""
    folder.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", f"size={STATE_MIB}m,mode=700", "accord-chaos", str(folder)]
    mounted = mount is not None and not subprocess.run([mount, *options], capture_output=True).returncode
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], capture_output=True)


def first_on_path(folder: Path) -> str:
    """What PYTHONPATH is with a folder in front."""
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(folder), *([given] if given else [])])
