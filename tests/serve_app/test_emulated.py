"""`accord run --emulate` as people rehearse a cluster: twelve workers, GPUs among them, on a machine of any size."""

import json
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalog.catalogue import load_catalogue
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from run_scene import ACCORD, ROOT, Started, accord, started

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

WORKERS = {"cpu": 8, "cuda": 4}
RUN_MS = {"cpu": 20.0, "cuda": 5.0}
"""What every batch takes, of whatever size."""

DISCARD_PORT = 9
"""Nobody listens there these days."""


@dataclass(frozen=True)
class Rehearsal:
    """A service, and the file of factors on its run times."""

    service: Started
    factors: Path


def config(folder: Path, port: int, **changes: Any) -> dict[str, Any]:
    """A Serve config that asks for far more than a laptop has, with profiles in ``folder``."""
    variants = load_catalogue("builtin").of_task("digits")
    for device, ms in RUN_MS.items():
        profile = LatencyProfile(device, {size: BatchLatency(9, ms, 0, ms, ms, ms, ms) for size in (1, 64)})
        write_profiles(folder / f"{device}.csv", {v.name: ProfiledVariant(v.accuracy_pct, profile) for v in variants})
    arguments = {
        "profiles": {device: str(folder / f"{device}.csv") for device in RUN_MS},
        "endpoints": {"digits": {"task": "digits", "slo_ms": 5000, "selection": {"policy": "greedy"}}},
        "pools": {
            "cpu": {"workers": WORKERS["cpu"], "num_cpus": 8},
            "gpu": {"workers": WORKERS["cuda"], "device": "cuda", "num_gpus": 1, "num_cpus": 8},
        },
        "emulate": {"distribution": "fixed", "factor_file": str(folder / "factors.json")},
    } | changes
    application = {"name": "accord", "route_prefix": "/", "import_path": "serve_app.main:build", "args": arguments}
    return {"http_options": {"host": "127.0.0.1", "port": port}, "applications": [application]}


@pytest.fixture(scope="module")
def rehearsal(free_port: int, free_ports: list[int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsal]:
    folder = tmp_path_factory.mktemp("emulated")
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(config(folder, free_port)))
    url = f"http://127.0.0.1:{free_port}"
    with started(path, url, free_ports, {}, "--emulate", log=folder / "log") as service:
        deadline_s = time.monotonic() + 200
        while len(workers(service)) < sum(WORKERS.values()):
            assert time.monotonic() < deadline_s, (folder / "log").read_text()[-3000:]
            time.sleep(1)
        yield Rehearsal(service, folder / "factors.json")


def workers(service: Started) -> dict[str, Any]:
    return accord("status", "--url", service.url)["workers"]


def infer(service: Started) -> dict[str, Any]:
    done = subprocess.run(["bash", "-c", service.line], capture_output=True, text=True, timeout=30, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer["parameters"]


def test_more_workers_than_cores_and_gpus_that_are_not_there_hold_emulated_variants(rehearsal: Rehearsal) -> None:
    there = workers(rehearsal.service)
    assert Counter(worker["device"] for worker in there.values()) == WORKERS
    for worker in there.values():
        assert worker["failed"] == {}
        assert len(worker["loaded"]) > 1
        assert worker["emulated"] == worker["loaded"]


def test_answers_metadata_status_and_log_say_that_no_model_ran(rehearsal: Rehearsal) -> None:
    service = rehearsal.service
    assert infer(service)["emulated"] is True
    query = accord("query", "--url", service.url)
    assert (query["emulated"], query["label"], query["correct"]) == (True, 0, None)
    metadata = json.loads(
        subprocess.run(
            ["curl", "-s", f"{service.url}/v2/models/digits"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    )["parameters"]
    assert metadata["emulated"] == metadata["variants"] != []
    variants = accord("status", "--url", service.url)["endpoints"]["digits"]["variants"]
    assert variants
    assert all(variant["emulated"] for variant in variants.values())
    shown = " ".join(service.log.read_text().split())
    assert "no model runs, answers mean nothing" in shown
    (serve_log,) = re.findall(r"\(log: (.*?)\)", shown)
    assert "EMULATED: no model runs for digits-" in Path(serve_log).read_text()


def test_a_load_is_answered_in_full_and_counted_as_emulated(rehearsal: Rehearsal) -> None:
    url = rehearsal.service.url
    report = accord("load", "--url", url, "--rate", "40", "--duration", "4")
    assert report["errors"] == {}
    assert report["emulated"] == report["answered"] == report["sent"] > 80
    assert report["accuracy_pct"] is None
    assert report["expected_accuracy_pct"] > 50


def test_a_factor_file_slows_the_workers_that_it_names_without_a_restart(rehearsal: Rehearsal) -> None:
    assert infer(rehearsal.service)["run_ms"] >= min(RUN_MS.values())
    written = rehearsal.factors.with_suffix(".new")
    written.write_text(json.dumps(dict.fromkeys(workers(rehearsal.service), 20)))
    written.rename(rehearsal.factors)
    assert infer(rehearsal.service)["run_ms"] >= 20 * min(RUN_MS.values())
    rehearsal.factors.unlink()


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a CUDA device")
def test_a_device_that_is_not_there_and_has_no_profile_is_refused_at_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cluster.yaml"
    gpu = {"gpu": {"device": "cuda", "num_gpus": 1}}
    path.write_text(yaml.safe_dump(config(tmp_path, DISCARD_PORT, profiles={}, pools=gpu)))
    command = [*ACCORD, "run", "--emulate", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "profiles.cuda names no file" in " ".join(done.stderr.split())
