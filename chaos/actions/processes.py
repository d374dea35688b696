"""What may happen to processes: they die, hang, get slow, run out of memory."""

import random
import resource
import signal
import time
from collections.abc import Sequence
from contextlib import suppress

import psutil

from chaos.trial.parts import of_part, some
from chaos.trial.trial import Trial, current
from serve_app.testing.duty_cycle import brake

__all__ = ["hang", "kill", "kill_at_random", "limit_memory", "resume", "slow_down", "undo"]

MIB = 1024 * 1024


def kill(part: str, count: int = 1) -> list[int]:
    """Kill so many processes of a part (SIGKILL), the youngest first; gives their ids."""
    trial = current()
    there = some(trial.bench.service, part)
    chosen = there[max(0, len(there) - count) :]
    trial.mark(f"{part} killed")
    trial.lost_pids |= {process.pid for process in chosen}
    return _sent(chosen, signal.SIGKILL)


def kill_at_random(part: str, share: float, every_s: float, seconds: float, seed: int = 0) -> list[int]:
    """Every ``every_s`` for ``seconds``, kill ``share`` of a part's processes, chosen at random; gives their ids."""
    trial, draw, killed = current(), random.Random(seed), list[int]()
    wanted = max(1, round(share * len(some(trial.bench.service, part))))
    next_s = time.monotonic()
    end_s = next_s + seconds
    while next_s < end_s:
        time.sleep(max(0.0, next_s - time.monotonic()))
        there = of_part(trial.bench.service, part)
        chosen = draw.sample(there, min(wanted, len(there)))
        trial.mark(f"{len(chosen)} of {len(there)} {part}s killed")
        trial.lost_pids |= {process.pid for process in chosen}
        killed += _sent(chosen, signal.SIGKILL)
        next_s += every_s
    return killed


def hang(part: str) -> list[int]:
    """Stop one process of a part (SIGSTOP): it is there and answers nothing; `resume` lets it go on."""
    trial = current()
    chosen = some(trial.bench.service, part)[-1:]
    trial.mark(f"{part} hangs")
    trial.lost_pids |= {process.pid for process in chosen}
    trial.undoing("hang").callback(_go_on, trial, chosen)
    return _sent(chosen, signal.SIGSTOP)


def resume() -> bool:
    """Let what hangs go on (SIGCONT), and count again as a part of the service; False where nothing does."""
    trial = current()
    if undone := trial.undo_all("hang"):
        trial.mark("goes on", fault=False)
    return undone


def slow_down(part: str, factor: float = 5.0) -> list[int]:
    """Whatever one process of a part computes takes ``factor`` times as long until `undo` of ``slow_down``."""
    trial = current()
    chosen = some(trial.bench.service, part)[-1:]
    trial.undoing("slow_down").enter_context(brake([each.pid for each in chosen], factor, time.monotonic()))
    trial.mark(f"{part} {factor:g} times as slow")
    return [process.pid for process in chosen]


def limit_memory(part: str, more_mib: float = 0.0) -> list[int]:
    """Let one process of a part take ``more_mib`` more of memory (RLIMIT_AS) until `undo` of ``limit_memory``.

    Nothing else of the machine is short of memory. Linux only.
    """
    trial = current()
    (process,) = chosen = some(trial.bench.service, part)[-1:]
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_AS)
    before = resource.prlimit(process.pid, resource.RLIMIT_AS)
    most = int(process.memory_info().vms + more_mib * MIB)
    resource.prlimit(process.pid, resource.RLIMIT_AS, (most, hard))
    trial.mark(f"{part} gets no more memory")
    trial.undoing("limit_memory").callback(_set_limit, process, before)
    return [each.pid for each in chosen]


def undo(action: str) -> bool:
    """End what an action of that name began; False where there is nothing to end."""
    trial = current()
    if undone := trial.undo_all(action):
        trial.mark(f"{action} ends", fault=False)
    return undone


def _sent(processes: Sequence[psutil.Process], number: int) -> list[int]:
    """Send a signal to those that are still there; gives their ids."""
    reached = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
            reached.append(process.pid)
    return reached


def _go_on(trial: Trial, processes: Sequence[psutil.Process]) -> None:
    trial.lost_pids -= set(_sent(processes, signal.SIGCONT))


def _set_limit(process: psutil.Process, limits: tuple[int, int]) -> None:
    with suppress(OSError):  # it has ended
        resource.prlimit(process.pid, resource.RLIMIT_AS, limits)
