"""The documented Ray job on a real local cluster: stopped half way, submitted again, gone on with."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import ray
import yaml
from ray.job_submission import JobStatus, JobSubmissionClient

from forecast.artifact import load
from serve_app.testing.free_ports import find_free_port

ROOT = Path(__file__).parents[2]
STEPS = 100_000
"""A day and more: learned from for long enough to be stopped half way."""

OVER = {JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED}

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(420)]


@pytest.fixture(scope="module")
def jobs(ray_folder: str) -> Iterator[JobSubmissionClient]:
    """Jobs of a local cluster that the fixture starts and ends."""
    context = ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=True,
        dashboard_port=find_free_port(),
        log_to_driver=False,
        _temp_dir=ray_folder,
    )
    yield JobSubmissionClient(f"http://{context.dashboard_url}")
    ray.shutdown()


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with a job's file, to be uploaded; the history and what comes of it are outside of it."""
    tmp_path = tmp_path_factory.mktemp("training")
    loads = 50 + 20 * np.sin(np.arange(STEPS) / 300) + np.random.default_rng(0).normal(0, 3, STEPS)
    (tmp_path / "load.csv").write_text("requests_per_s\n" + "\n".join(f"{load:.3f}" for load in loads))
    options = {
        "series": str(tmp_path / "load.csv"),
        "model": "lstm",
        "checkpoint": str(tmp_path / "checkpoints"),
        "out": str(tmp_path / "lstm.safetensors"),
    }
    folder = tmp_path / "workdir"
    folder.mkdir()
    (folder / "job.yaml").write_text(yaml.safe_dump(options))
    return folder


def submit(jobs: JobSubmissionClient, workdir: Path) -> str:
    return str(
        jobs.submit_job(
            entrypoint=f"{sys.executable} -m serve_app.cli.main forecast train --config job.yaml",
            runtime_env={
                "working_dir": str(workdir),
                "env_vars": {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            },
        )
    )


def wait_until(done: Callable[[], bool], jobs: JobSubmissionClient, job: str) -> None:
    while not done():
        assert jobs.get_job_status(job) not in OVER, jobs.get_job_logs(job)
        time.sleep(0.2)


@pytest.fixture(scope="module")
def stopped(jobs: JobSubmissionClient, workdir: Path) -> str:
    """A job that was stopped as soon as it had a checkpoint."""
    job = submit(jobs, workdir)
    wait_until(lambda: any(workdir.parent.glob("checkpoints/*/*.ckpt")), jobs, job)
    assert jobs.stop_job(job)
    while jobs.get_job_status(job) not in OVER:
        time.sleep(0.2)
    return job


def test_a_stopped_job_leaves_a_checkpoint_and_no_model(jobs: JobSubmissionClient, workdir: Path, stopped: str) -> None:
    assert jobs.get_job_status(stopped) == JobStatus.STOPPED
    assert "goes on at step" not in jobs.get_job_logs(stopped)
    assert not (workdir.parent / "lstm.safetensors").exists()


@pytest.mark.usefixtures("stopped")
def test_a_job_that_was_stopped_goes_on_when_it_is_submitted_again(jobs: JobSubmissionClient, workdir: Path) -> None:
    out = workdir.parent / "lstm.safetensors"
    second = submit(jobs, workdir)
    wait_until(lambda: "goes on at step" in jobs.get_job_logs(second), jobs, second)
    while jobs.get_job_status(second) not in OVER:
        time.sleep(0.2)
    logs = jobs.get_job_logs(second)
    assert jobs.get_job_status(second) == JobStatus.SUCCEEDED, logs
    assert "lstm forecasts the highest load of the next 20 s" in logs
    card = load(out).card
    assert card.name == "lstm"
    assert card.trained_until_s == 0.8 * STEPS
    assert card.scores["smape_pct"] < 15
