"""The supervisor and what it starts: here a few lines that answer at the admin socket, and no HAProxy."""

import asyncio
import os
import signal
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from serve_app.proxy.supervisor import FORWARDED, Supervisor

ANSWERING = """
import os, socket, sys
path = sys.argv[1]
if os.path.exists(path):
    os.unlink(path)
with socket.socket(socket.AF_UNIX) as server:
    server.bind(path)
    server.listen()
    while True:
        asked, _ = server.accept()
        asked.recv(1024)
        asked.sendall(b"Pid: %d" % os.getpid())
        asked.close()
"""

WITHIN_S = 20.0


class Scene:
    """A supervisor in this very process, which gets ``number`` while start ``asked_at`` (1, 2, ...) makes a process."""

    def __init__(self, folder: str, number: signal.Signals, asked_at: int, patch: pytest.MonkeyPatch) -> None:
        self.pids: list[int] = []
        self._outer, self._inner = f"{folder}/outer", f"{folder}/inner"
        self._number = number
        self._asked_at = asked_at
        self._make_process = asyncio.create_subprocess_exec
        patch.setattr(asyncio, "create_subprocess_exec", self._slowly)
        self.supervisor = Supervisor(self._command, self._outer, self._inner, self.pids.append)

    def _command(self, first: bool) -> list[str]:
        assert first == (not self.pids)
        return [sys.executable, "-S", "-c", ANSWERING, self._inner]

    async def _slowly(self, *command: str) -> Process:
        if len(self.pids) + 1 == self._asked_at:
            os.kill(os.getpid(), self._number)
            await asyncio.sleep(0.1)  # the signal is handled meanwhile
        return await self._make_process(*command)

    def answers_for_serve(self) -> bool:
        """Whether the supervisor has ever done so."""
        return Path(self._outer).exists()

    def end(self) -> None:
        """Kill what is left, and leave signals to others."""
        for child in psutil.Process().children():
            if child.pid in self.pids:
                child.kill()
        for number in FORWARDED:
            asyncio.get_event_loop().remove_signal_handler(number)


@pytest.fixture
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="s") as made:  # paths of sockets may have 107 characters
        yield made


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
async def test_a_signal_to_stop_while_haproxy_is_started_anew_reaches_the_new_one(
    folder: str, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(folder, number, 2, monkeypatch)
    try:
        async with asyncio.timeout(WITHIN_S):
            running = asyncio.create_task(scene.supervisor.run())
            while not scene.answers_for_serve():
                await asyncio.sleep(0.01)
            os.kill(scene.pids[0], signal.SIGKILL)
            assert await running == 0
        assert len(scene.pids) == 2
        assert not psutil.pid_exists(scene.pids[1])
    finally:
        scene.end()


async def test_a_signal_to_stop_while_the_first_haproxy_is_started_reaches_it(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(folder, signal.SIGTERM, 1, monkeypatch)
    try:
        async with asyncio.timeout(WITHIN_S):
            assert await scene.supervisor.run() == 0
        assert len(scene.pids) == 1
        assert not scene.answers_for_serve()
    finally:
        scene.end()
