"""Trains forecasters in a process of its own, which yields to all others on the machine."""

import asyncio
import multiprocessing
import os
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack

from catalog.errors import TrainingFailed
from deployments.forecasting.training import Trained, TrainingRequest, train
from deployments.processes import BACKGROUND_NICENESS, processes
from deployments.state.store import StateStore

LIMIT_S = 7200.0
"""Ten times what the largest model takes on a machine that has nothing else to do."""


async def train_apart(store: StateStore, request: TrainingRequest) -> Trained:
    """See `forecast_training.train`; the process ends with the training, so that nothing of it stays in memory.

    Errors of the training pass through. Raises `TrainingFailed` where the process dies or takes longer than `LIMIT_S`.
    """
    process = ExitStack()
    executor: Executor = process.enter_context(processes(1, BACKGROUND_NICENESS))
    pid = executor.submit(os.getpid)
    try:
        return await asyncio.wait_for(asyncio.wrap_future(executor.submit(train, store, request)), LIMIT_S)
    except TimeoutError:
        raise TrainingFailed(
            f"model {request.model!r} of {request.endpoint} was not trained within {LIMIT_S:.0f} s, and was stopped; "
            "choose a simpler one, or a shorter history_s"
        ) from None
    except BrokenExecutor as error:
        raise TrainingFailed(
            f"the process that trained {request.model!r} of {request.endpoint} died; see its last words in the log, "
            "and whether the machine is short of memory"
        ) from error
    finally:
        _kill(pid)
        process.close()


def _kill(begun: "Future[int]") -> None:
    """Whether it is done or not: nothing in it is of use any more. Waits for one that has just begun, for seconds."""
    try:
        pid = begun.result()
    except BrokenExecutor:
        return
    for child in multiprocessing.active_children():
        if child.pid == pid:
            child.kill()
