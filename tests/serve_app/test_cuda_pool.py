"""A pool of workers that share one real GPU."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from run_scene import Started, accord, started

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU with CUDA, and PyTorch built for it"),
]

WORKERS = 2


def config(port: int) -> dict[str, Any]:
    variants = ["digits-cnn-s", "digits-cnn-xl"]
    endpoint = {"task": "digits", "slo_ms": 200, "variants": variants, "selection": {"policy": "greedy"}}
    arguments = {
        "catalogue": "builtin",
        "endpoints": {"digits": endpoint},
        "pools": {"gpu": {"workers": WORKERS, "device": "cuda", "num_gpus": 1 / WORKERS, "num_cpus": 0.5}},
    }
    application = {"name": "accord", "route_prefix": "/", "import_path": "serve_app.main:build", "args": arguments}
    return {"http_options": {"host": "127.0.0.1", "port": port}, "applications": [application]}


@pytest.fixture(scope="module")
def service(free_port: int, free_ports: list[int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    folder: Path = tmp_path_factory.mktemp("cuda")
    path = folder / "gpu.yaml"
    path.write_text(yaml.safe_dump(config(free_port)))
    with started(path, f"http://127.0.0.1:{free_port}", free_ports, {}, log=folder / "log") as running:
        yield running


def test_all_workers_hold_variants_on_the_gpu(service: Started) -> None:
    workers = accord("status", "--url", service.url)["workers"].values()
    assert [worker["device"] for worker in workers] == ["cuda"] * WORKERS
    for worker in workers:
        assert worker["failed"] == {}
        assert set(worker["loaded"]) == {"digits-cnn-s", "digits-cnn-xl"}


def test_a_load_is_answered_in_time_and_right(service: Started) -> None:
    report = accord("load", "--url", service.url, "--rate", "100", "--duration", "5")
    assert report["errors"] == {}
    assert report["answered"] == report["sent"] > 300
    assert report["accuracy_pct"] > 90
