"""Damaged artifacts and full disks, undone as they were."""

import errno
import hashlib
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from chaoslib.exceptions import ActivityFailed

from chaos.actions import files
from chaos.services.digits import STATE, copied_models
from chaos.trial.trial import Trial
from chaos_scene import bench_of, called, trial_on

CONTROLLER = "ray::ServeReplica:accord:Controller"


@pytest.fixture
def played(tmp_path: Path) -> Iterator[tuple[Trial, psutil.Process]]:
    (tmp_path / STATE).mkdir()
    with called(CONTROLLER) as (controller,), trial_on(bench_of([controller], tmp_path)) as trial:
        yield trial, controller


def test_a_damaged_artifact_fails_its_checksum_and_is_restored(played: tuple[Trial, psutil.Process]) -> None:
    copied_models(played[0].bench.service.folder)
    model = played[0].bench.service.folder / "zoo" / "models" / "digits-mlp.onnx"
    before = hashlib.sha256(model.read_bytes()).hexdigest()
    assert files.corrupt_artifact("digits-mlp") == str(model)
    assert hashlib.sha256(model.read_bytes()).hexdigest() != before
    assert files.restore_artifact() is True
    assert hashlib.sha256(model.read_bytes()).hexdigest() == before
    assert files.restore_artifact() is False
    assert [mark.fault for mark in played[0].marks] == [True, False]


def test_an_artifact_that_is_not_there_is_told(played: tuple[Trial, psutil.Process]) -> None:
    with pytest.raises(ActivityFailed, match="no model file of its own for 'digits-none'"):
        files.corrupt_artifact("digits-none")


def test_without_a_file_system_of_its_own_the_controller_may_not_write(played: tuple[Trial, psutil.Process]) -> None:
    _, controller = played
    assert files.fill_state_disk() == f"process {controller.pid} may not write; a controller that comes after it may"
    assert resource.prlimit(controller.pid, resource.RLIMIT_FSIZE)[0] == 0
    assert files.free_state_disk() is True
    assert resource.prlimit(controller.pid, resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    assert files.free_state_disk() is False


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_filling_ends_where_nothing_more_can_be_written() -> None:
    files._fill(Path("/dev/full"))  # says at once that there is no room
    with pytest.raises(OSError) as refused, Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"x")
    assert refused.value.errno == errno.ENOSPC
