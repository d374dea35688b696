"""Windows are kept whatever HAProxy answers; here a few lines that answer at an admin socket."""

import asyncio
import tempfile
from collections.abc import AsyncIterator

import pytest

from serve_app.proxy.config_text import Server
from serve_app.proxy.window import FIRST, Seen, next_size
from serve_app.proxy.window_keeper import keep_windows, look

ROUTER = Server("http-accord", "router-1", "proc.wait_1")
HEADER = "# pxname,svname,qcur,qmax,scur,"
ROW = f"{ROUTER.backend},{ROUTER.name},0,0,2,"
TOTAL = f"{ROUTER.backend},BACKEND,30,30,2,"
WHOLE = "\n".join((HEADER, ROW, TOTAL, ""))
CUT_OFF = ["", HEADER[:-6], HEADER, "\n".join((HEADER, ROW[:-4])), "\n".join((HEADER, ROW, ""))]


class HaProxy:
    """Answers ``show stat`` with ``stats`` one after another, the last of them again and again; notes windows set."""

    def __init__(self, stats: list[str]) -> None:
        self.stats = stats
        self.windows: list[str] = []
        self.set = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        command = (await reader.readline()).decode().strip()
        if command.startswith("show stat"):
            writer.write(self.stats[0].encode())
            self.stats = self.stats[1:] or self.stats
        elif command == "get var proc.wait_1; get var proc.wait_1_refusing":
            writer.write(b"proc.wait_1: type=sint value=<1>\n\nproc.wait_1_refusing: type=sint value=<40>\n\n")
        else:
            self.windows.append(command)
            self.set.set()
        writer.close()


@pytest.fixture
async def admin(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, HaProxy]]:
    haproxy = HaProxy(request.param)
    with tempfile.TemporaryDirectory(prefix="w") as folder:  # paths of sockets may have 107 characters
        async with await asyncio.start_unix_server(haproxy.answer, f"{folder}/h.sock"):
            yield f"{folder}/h.sock", haproxy


@pytest.mark.parametrize("admin", [[WHOLE]], indirect=True)
async def test_a_router_is_seen_with_what_waits_in_front_of_all(admin: tuple[str, HaProxy]) -> None:
    assert await look(admin[0], [ROUTER]) == {ROUTER: Seen(wait_pct=1, in_use=2, waiting=30, refusing_pct=40)}


@pytest.mark.parametrize("admin", [[each, WHOLE] for each in CUT_OFF], indirect=True)
async def test_windows_are_kept_after_an_answer_that_was_cut_off(
    admin: tuple[str, HaProxy], capsys: pytest.CaptureFixture[str]
) -> None:
    socket, haproxy = admin
    keeping = asyncio.create_task(keep_windows(socket, [ROUTER]))
    try:
        async with asyncio.timeout(20.0):
            await asyncio.wait(
                (keeping, asyncio.ensure_future(haproxy.set.wait())), return_when=asyncio.FIRST_COMPLETED
            )
    finally:
        keeping.cancel()
    size = next_size(FIRST, Seen(wait_pct=1, in_use=2, waiting=30))
    assert haproxy.windows[0] == f"set maxconn server http-accord/router-1 {size}"
    assert capsys.readouterr().err.count("cannot be read") <= 1
