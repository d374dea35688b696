"""What docs/your-code.md has people do, done, and what it says of faults, on the service that comes of it."""

import json
import os
import shlex
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from http_scene import until

from benchmarks.newcomer.page import PAGE, blocks_of, commands, put_in
from run_scene import ACCORD, ROOT, Started, started

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

BLOCKS = blocks_of(PAGE, "From nothing to an answer")
RUN = ["accord", "run"]

MORE = """
import os
import sys
from pathlib import Path

import numpy as np

with (Path(__file__).parent / "imported-by").open("a") as file:
    file.write(f"{os.getpid()}\\n")


class Faulty:
    def setup(self, device): ...

    def predict(self, inputs):
        if (inputs["x"] == 13).any():
            raise ValueError("thirteen is unlucky")
        if (inputs["x"] == 14).any():
            sys.exit(3)
        return {"y": 2 * inputs["x"]}


class Greets:
    async def setup(self, device):
        self.place = os.environ["SHOP"]

    async def predict(self, inputs):
        return {"text": np.array([f"hello from {self.place}"] * len(inputs["x"]))}
"""
"""A module that says who imports it, a class that raises, and one that needs its pool's environment."""


@dataclass(frozen=True)
class Shop:
    """The project, and the service that `accord run` in it is."""

    folder: Path
    service: Started

    def infer(self, endpoint: str, *values: float) -> tuple[int, dict[str, Any]]:
        tensor = {"name": "x", "shape": [len(values)], "datatype": "FP32", "data": list(values)}
        return self.post(f"/v2/models/{endpoint}/infer", {"inputs": [tensor]})

    def post(self, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(
            f"{self.service.url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    @property
    def workers(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.service.url}/accord/status", timeout=10) as response:
            workers: dict[str, Any] = json.loads(response.read())["workers"]
        return workers


@pytest.fixture(scope="module")
def shop(free_port: int, free_ports: list[int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """All that the page says up to `accord run`; two more variants beside it, and another port."""
    folder = tmp_path_factory.mktemp("page")
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    for block in BLOCKS:
        if block.language != "bash":
            put_in(block, folder)
            continue
        lines = [shlex.split(line, comments=True) for line in commands(block)]
        if RUN in lines:
            break
        for words in lines:
            if words[0] == "cd":
                folder = folder / words[1]
            else:
                env = {**os.environ, "PYTHONPATH": path}
                subprocess.run([*ACCORD, *words[1:]], cwd=folder, env=env, check=True, timeout=120, capture_output=True)
    _add_more(folder, free_port)
    url = f"http://127.0.0.1:{free_port}"
    env = {"PYTHONPATH": path}
    with started(None, url, free_ports, env, log=folder.parent / "log", folder=folder) as service:
        yield Shop(folder, service)


def _add_more(folder: Path, port: int) -> None:
    (folder / "faulty.py").write_text(MORE)
    x = {"name": "x", "datatype": "FP32", "shape": [-1]}
    entries = [
        {"name": "faulty", "outputs": [x | {"name": "y"}], "artifact": {"import": "faulty:Faulty"}},
        {
            "name": "greets",
            "outputs": [x | {"name": "text", "datatype": "BYTES"}],
            "artifact": {"import": "faulty:Greets"},
        },
    ]
    catalogue = yaml.safe_load((folder / "catalogue.yaml").read_text())
    for entry in entries:
        catalogue["variants"].append(
            {**entry, "task": entry["name"], "runtime": "python", "accuracy": 0.5, "inputs": [x]}
        )
    (folder / "catalogue.yaml").write_text(yaml.safe_dump(catalogue))
    config = yaml.safe_load((folder / "serve.yaml").read_text())
    config["http_options"]["port"] = port
    args = config["applications"][0]["args"]
    for name, pool in (("faulty", "cpu"), ("greets", "mine")):
        args["endpoints"][name] = {"task": name, "slo_ms": 5000, "pools": [pool], "selection": {"policy": "greedy"}}
    args["endpoints"]["digits"]["pools"] = ["cpu"]
    args["pools"]["cpu"]["variants"] = ["means", "faulty"]
    args["pools"]["mine"] = {
        "workers": 1,
        "num_cpus": 0.1,
        "variants": ["greets"],
        "runtime_env": {"env_vars": {"SHOP": "berlin"}},
    }
    (folder / "serve.yaml").write_text(yaml.safe_dump(config))


def test_the_page_leads_to_right_answers_of_the_class_on_it(shop: Shop) -> None:
    said = {}
    lines = [
        shlex.split(line, comments=True) for block in BLOCKS if block.language == "bash" for line in commands(block)
    ]
    for words in lines[lines.index(RUN) + 1 :]:
        command = [*ACCORD, *words[1:], "--url", shop.service.url, "--json"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=shop.folder, env=env, capture_output=True, text=True, timeout=90, check=True)
        said[words[1]] = json.loads(done.stdout)
    assert said["query"]["variant"] == "means"
    assert said["query"]["correct"] is True
    assert said["load"]["errors"] == {}
    assert said["load"]["accuracy_pct"] > 80


def test_what_a_class_raises_costs_the_query_alone_and_its_traceback_is_in_the_log(shop: Shop) -> None:
    before = {worker: each["pid"] for worker, each in shop.workers.items()}
    for value, text in ((13.0, "ValueError: thirteen is unlucky"), (14.0, "predict raised SystemExit(3)")):
        status, answer = shop.infer("faulty", value)
        assert (status, answer["reason"]) == (503, "VariantFailed")
        assert text in answer["error"]
        assert shop.infer("faulty", 1.0, 2.0)[1]["outputs"][0]["data"] == [2.0, 4.0]
    log = Path(os.environ["ACCORD_CACHE_DIR"]) / "logs" / f"run-{shop.service.url.rpartition(':')[2]}.log"
    until(lambda: 'raise ValueError("thirteen is unlucky")' in log.read_text(errors="replace"), within_s=20)
    assert 'faulty.py", line ' in log.read_text(errors="replace")
    assert {worker: each["pid"] for worker, each in shop.workers.items()} == before


def test_a_class_has_the_environment_of_its_pool(shop: Shop) -> None:
    status, answer = shop.infer("greets", 1.0)
    assert status == 200, answer
    assert answer["outputs"][0]["data"] == ["hello from berlin"]


def test_workers_import_what_is_the_users_and_routers_do_not(shop: Shop) -> None:
    importers = {int(line) for line in (shop.folder / "imported-by").read_text().split()}
    assert {worker["pid"] for worker in shop.workers.values()} <= importers
    mine = psutil.Process(shop.service.process.pid).children(recursive=True)
    for deployment in ("Router", "Controller"):
        others = {each.pid for each in mine if f"ServeReplica:accord:{deployment}" in _title(each)}
        assert others
        assert not others & importers


def test_clients_register_no_code(shop: Shop) -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": [-1]}
    described = {
        "name": "another",
        "task": "faulty",
        "runtime": "python",
        "artifact": {"import": "faulty:Faulty"},
        "accuracy": 0.5,
        "inputs": [tensor],
        "outputs": [tensor | {"name": "y"}],
    }
    status, answer = shop.post("/accord/variants", described)
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert "artifacts.allow_code: [python]" in answer["error"]


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
