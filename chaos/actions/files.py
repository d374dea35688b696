"""What may happen to files: artifacts are damaged, disks are full."""

import contextlib
import errno
import resource
from pathlib import Path

import psutil
from chaoslib.exceptions import ActivityFailed

from chaos.services.digits import STATE, ZOO
from chaos.trial.parts import some
from chaos.trial.trial import current

__all__ = ["corrupt_artifact", "fill_state_disk", "free_state_disk", "restore_artifact"]

CHUNK = b"\0" * 65536
DAMAGED_BYTES = 64


def corrupt_artifact(variant: str) -> str:
    """Overwrite some bytes in the middle of a variant's model file until `restore_artifact`; gives its path.

    Workers that hold the variant go on; one that is started afterwards cannot load it.
    """
    trial = current()
    path = trial.bench.service.folder / ZOO / "models" / f"{variant}.onnx"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ActivityFailed(
            f"service {trial.bench.service.name!r} has no model file of its own for {variant!r}: {error}"
        ) from error
    middle = len(content) // 2
    damaged = bytes(byte ^ 0xFF for byte in content[middle : middle + DAMAGED_BYTES])
    path.write_bytes(content[:middle] + damaged + content[middle + len(damaged) :])
    trial.mark(f"artifact of {variant} damaged")
    trial.undoing("artifact").callback(path.write_bytes, content)
    return str(path)


def restore_artifact() -> bool:
    """The artifact is as it was; False where none is damaged."""
    trial = current()
    if undone := trial.undo_all("artifact"):
        trial.mark("artifact as it was", fault=False)
    return undone


def fill_state_disk() -> str:
    """Leave no room for the controller's state until `free_state_disk`; gives how.

    Where the state store has a file system of its own (a small tmpfs, which takes the right to mount) that is filled.
    Elsewhere the controller's process may not let any file grow (RLIMIT_FSIZE), its log among them; one that Serve
    starts in its place may.
    """
    trial = current()
    state = trial.bench.service.folder / STATE
    trial.mark("no room for the controller's state")
    if state.is_mount():
        filler = state / "filler"
        trial.undoing("disk").callback(filler.unlink, missing_ok=True)
        _fill(filler)
        return f"the file system at {state} is full"
    (controller,) = some(trial.bench.service, "controller")[-1:]
    before = resource.prlimit(controller.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(controller.pid, resource.RLIMIT_FSIZE, (0, before[1]))
    trial.undoing("disk").callback(_set_limit, controller, before)
    return f"process {controller.pid} may not write; a controller that comes after it may"


def free_state_disk() -> bool:
    """There is room for the state again; False where there was."""
    trial = current()
    if undone := trial.undo_all("disk"):
        trial.mark("room for the controller's state", fault=False)
    return undone


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for chunk in (CHUNK, CHUNK[:512], CHUNK[:1]):
            try:
                while True:
                    file.write(chunk)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


def _set_limit(process: psutil.Process, limits: tuple[int, int]) -> None:
    with contextlib.suppress(OSError):  # it has ended
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, limits)
