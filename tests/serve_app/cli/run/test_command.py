"""`accord run` as a newcomer uses it: high-throughput mode, the printed line, a load, Ctrl-C."""

import json
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
import yaml

from run_scene import ACCORD, ROOT, Started, accord, started
from serve_app.grpc.protocol import inference_pb2 as pb
from serve_app.grpc.protocol.inference_pb2_grpc import GRPCInferenceServiceStub
from serve_app.testing.free_ports import find_free_port

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

MARK = {"ACCORD_TEST_RUN": uuid.uuid4().hex}
"""In the environment of every process that the service starts, orphans included."""
TABLES_WITHIN_S = 60.0
"""Tables for just the latency that is measured have decided by then; until they have, no bounds are shown."""

STANDSTILL_S, WARNED_WITHIN_S = 0.25, 30.0
"""A worker that stands still for so long every now and then breaks the promise, and the warning comes by then."""


@pytest.fixture(scope="module")
def service(free_port: int, free_ports: list[int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """The quickstart on a free port."""
    folder = tmp_path_factory.mktemp("run")
    config = yaml.safe_load((ROOT / "configs" / "quickstart.yaml").read_text())
    config["http_options"]["port"] = free_port
    config["grpc_options"]["port"] = find_free_port()
    path = folder / "quickstart.yaml"
    path.write_text(yaml.safe_dump(config))
    with started(path, f"http://127.0.0.1:{free_port}", free_ports, MARK, log=folder / "log") as running:
        yield running


def test_the_printed_line_works_as_printed(service: Started) -> None:
    done = subprocess.run(["bash", "-c", service.line], capture_output=True, text=True, timeout=30, check=True)
    answer = json.loads(done.stdout)
    assert answer["parameters"]["variant"].startswith("digits-")
    assert 0 <= answer["outputs"][0]["data"][0] <= 9


def test_a_load_loses_nothing_and_the_short_way_counts_like_the_ordinary_one(
    service: Started,
) -> None:
    url = service.url
    before = accord("status", "--url", url)["endpoints"]["digits"]
    report = accord(
        "load", "--url", url, "--endpoint", "digits", "--dataset", "test", "--rate", "30", "--duration", "4"
    )
    after = accord("status", "--url", url)["endpoints"]["digits"]
    assert report["errors"] == {}
    assert report["accuracy_pct"] > 50
    sent = after["arrived"] - before["arrived"]
    assert sent == after["answered"] - before["answered"] > 60


def test_the_quickstart_selects_by_tables_and_keeps_what_they_promise(
    service: Started,
) -> None:
    command = [*ACCORD, "load", "--url", service.url, "--rate", "20", "--duration", f"{TABLES_WITHIN_S:g}"]
    load = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end_s = time.monotonic() + TABLES_WITHIN_S
        digits = _digits(service)
        while digits["guarantee"]["expected_accuracy"] is None and time.monotonic() < end_s:
            time.sleep(0.3)
            digits = _digits(service)
    finally:
        load.kill()
        load.wait(10)
    assert digits["selection"] == "ramsis"
    assert digits["tables"]["made"] > 0
    guarantee = digits["guarantee"]
    assert guarantee["queries"] > 0
    assert 0.5 < guarantee["observed_accuracy"] < 1
    assert 0.5 < guarantee["expected_accuracy"] < 1
    assert 0 <= guarantee["expected_violation_rate"] < 0.5
    assert guarantee["promised_violation_rate"] == pytest.approx(0.01)
    assert guarantee["broken"] is False
    assert digits["transport_ms"]["p50"] > 0


def _digits(service: Started) -> dict[str, Any]:
    """What the service says of its endpoint."""
    with urllib.request.urlopen(f"{service.url}/accord/status", timeout=10) as response:
        said: dict[str, Any] = json.loads(response.read())["endpoints"]["digits"]
    return said


def test_faults_get_the_same_answers_on_the_short_way(service: Started) -> None:
    url = service.url
    for content, status in (("{nope", "400"), ('{"inputs": []}', "400")):
        command = ["curl", "-s", "-w", " %{http_code}", f"{url}/v2/models/digits/infer", "-d", content]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        body, _, code = done.stdout.rpartition(" ")
        assert code == status
        assert json.loads(body)["error"]


def test_a_broken_promise_is_shown_on_the_terminal(service: Started) -> None:
    worker = _worker()
    command = [*ACCORD, "load", "--url", service.url, "--rate", "50", "--duration", f"{WARNED_WITHIN_S:g}"]
    load = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end_s = time.monotonic() + WARNED_WITHIN_S
        while not _warned(service) and time.monotonic() < end_s:
            worker.suspend()
            time.sleep(STANDSTILL_S)
            worker.resume()
            time.sleep(STANDSTILL_S)
    finally:
        worker.resume()
        load.kill()
        load.wait(10)
    assert _warned(service), service.log.read_text()[-3000:]


def _warned(service: Started) -> bool:
    """Whether the terminal shows that the promise was broken."""
    return "WARNING Router: Endpoint digits breaks its promise" in service.log.read_text()


def test_ctrl_c_stops_everything_that_was_started_once_open_queries_have_their_answers(service: Started) -> None:
    process = service.process
    assert len(_started()) > 5
    images = {"name": "image", "datatype": "FP32", "shape": [1, 12, 12], "contents": {"fp32_contents": [0.0] * 144}}
    channel = grpc.insecure_channel(f"127.0.0.1:{_config(service)['grpc_options']['port']}")
    worker = _worker()
    worker.suspend()
    try:
        query = subprocess.Popen(["bash", "-c", service.line], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        called = GRPCInferenceServiceStub(channel).ModelInfer.future(
            pb.ModelInferRequest(model_name="digits", inputs=[images]), timeout=30
        )
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        time.sleep(1.0)
    finally:
        worker.resume()
    answer, _ = query.communicate(timeout=30)
    assert json.loads(answer)["parameters"]["variant"].startswith("digits-")
    assert called.result().parameters["variant"].string_param.startswith("digits-")
    channel.close()
    assert process.wait(90) == 0
    _, alive = psutil.wait_procs(_started(), timeout=30)
    assert alive == []


def _config(service: Started) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((service.log.parent / "quickstart.yaml").read_text())
    return config


def _worker() -> psutil.Process:
    (worker,) = (
        process for process in _started() if any("ServeReplica:accord:cpu" in word for word in process.cmdline())
    )
    return worker


def _started() -> list[psutil.Process]:
    return [process for process in psutil.process_iter() if _is_marked(process)]


def _is_marked(process: psutil.Process) -> bool:
    try:
        return MARK.items() <= process.environ().items()
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return False


def test_a_taken_port_is_refused_at_once(tmp_path: Path, free_port: int) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "http.server", str(free_port), "--bind", "127.0.0.1"], stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(1.5)
        config = yaml.safe_load((ROOT / "configs" / "quickstart.yaml").read_text())
        config["http_options"]["port"] = free_port
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(config))
        done = subprocess.run([*ACCORD, "run", str(path)], cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode == 2
        assert "is taken already" in done.stderr
    finally:
        server.terminate()
        server.wait(10)


def test_more_cpus_than_the_machine_has_are_refused_at_once(tmp_path: Path, free_port: int) -> None:
    config = yaml.safe_load((ROOT / "configs" / "quickstart.yaml").read_text())
    config["http_options"]["port"] = free_port
    config["applications"][0]["args"]["pools"]["cpu"] |= {"workers": 4096, "num_cpus": 1}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    done = subprocess.run([*ACCORD, "run", str(path)], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "asks Ray for 4096.6 CPUs" in done.stderr
