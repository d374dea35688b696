"""Ray's own HAProxy manager class with Accord's executable, in a process of its own, in front of small HTTP servers.

As the module of a command it is that process: it reads backends as lines of JSON and says ``ok`` for each.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import TracebackType
from typing import Any, Self

import aiohttp
import psutil
from aiohttp import web

from serve_app.testing.free_ports import find_free_port

ROOT = Path(__file__).parents[2]
BACKEND = "http-accord"
INFER = "/v2/models/digits/infer"
WITHIN_S = 30.0


def render(
    folder: Path, port: int, routers: list[tuple[str, int]], fallback: int | None = None, grpc_port: int | None = None
) -> str:
    """The configuration as Ray writes it; without routers, before it knows any route. With a ``grpc_port`` Serve's own
    proxy, the fallback, lists applications."""
    from ray.serve._private.haproxy import ServerConfig

    api = _api(folder, port, grpc_port)
    if grpc_port is not None and fallback is not None:
        api.set_grpc_fallback_server(ServerConfig(name="fallback", host="127.0.0.1", port=fallback))
    if routers:
        api.set_backend_configs(_backends(routers, fallback))
    api._generate_config_file_internal()
    return Path(api.config_file_path).read_text()


def until(holds: Callable[[], Any], within_s: float = WITHIN_S) -> None:
    deadline_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline_s, f"not so within {within_s} s"
        time.sleep(0.02)


class Manager:
    """What Serve's proxy manager does with HAProxy; ``port`` is the one that clients use."""

    def __init__(self, folder: Path, port: int, env: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.port = port
        executable = folder / "accord-haproxy"
        executable.write_text(f"#!{sys.executable}\nfrom serve_app.proxy.command import main\nmain()\n")
        executable.chmod(0o755)
        self._env = os.environ | {
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests' / 'support'}",
            "RAY_SERVE_HAPROXY_BINARY_PATH": str(executable),
            **(env or {}),
        }
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[str]":
        command = [sys.executable, __file__, str(self.folder), str(self.port)]
        with (self.folder / "manager.log").open("a") as log:
            return subprocess.Popen(
                command, env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def __enter__(self) -> Self:
        self._wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        while left := self.processes():  # a supervisor starts the one that is killed before it anew
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(left, timeout=WITHIN_S)
        self._close()

    def route(self, *routers: tuple[str, int], fallback: int | None = None) -> None:
        """Tell HAProxy of the routers."""
        self._say({"routers": routers, "fallback": fallback})

    def stop(self) -> None:
        """As Serve stops its proxy: HAProxy's process is killed, and the manager ends."""
        self._say({"stop": True})
        self.process.wait(WITHIN_S)

    def replace(self) -> None:
        """Kill the manager and start the next one, as Serve does."""
        self.process.kill()
        self._close()
        self.process = self._start()
        self._wait()

    def processes(self, name: str | None = None) -> list[psutil.Process]:
        """HAProxy (``haproxy``) and what keeps it (``accord-haproxy``)."""
        found = []
        for process in psutil.process_iter(["name", "cmdline", "status"]):
            line = " ".join(process.info["cmdline"] or [])
            here = f"{self.folder}/haproxy.cfg" in line and process.info["status"] != psutil.STATUS_ZOMBIE
            if here and name in (None, process.info["name"]):
                found.append(process)
        return found

    def supervisor(self) -> psutil.Process:
        """The process that Serve takes for HAProxy."""
        (process,) = [p for p in self.processes("accord-haproxy") if p.children()]
        return process

    def _say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        self._wait()

    def _wait(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line == "ok\n", (line, (self.folder / "manager.log").read_text()[-3000:])

    def _close(self) -> None:
        self.process.wait(WITHIN_S)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


@contextmanager
def managed(env: dict[str, str] | None = None) -> Iterator[Manager]:
    """A manager whose HAProxy serves, until the end of the block."""
    folder = Path(mkdtemp(prefix="hap"))  # HAProxy takes socket paths of 97 characters at most
    try:
        with Manager(folder, find_free_port(), env) as manager:
            yield manager
    finally:
        rmtree(folder, ignore_errors=True)


class Upstream:
    """A router of a few lines: health checks, and whatever ``answer`` gives for other requests."""

    def __init__(self, answer: Callable[[web.BaseRequest], Any]) -> None:
        self._answer = answer
        self.requests: list[web.BaseRequest] = []
        self.port = 0

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(web.Server(self._serve))
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/-/healthz":
            return web.Response()
        self.requests.append(request)
        response: web.StreamResponse = await self._answer(request)
        return response


async def call(
    client: aiohttp.ClientSession, manager: Manager, path: str = INFER, **given: Any
) -> tuple[int, str, Any]:
    async with client.post(f"http://127.0.0.1:{manager.port}{path}", data=b"{}", **given) as answer:
        return answer.status, await answer.text(), answer.headers


async def served(client: aiohttp.ClientSession, manager: Manager, *upstreams: Upstream, **given: Any) -> None:
    """Route to these, and wait until HAProxy has seen that they live: then it serves."""
    routers = [(f"r{number}", upstream.port) for number, upstream in enumerate(upstreams)]
    await asyncio.to_thread(manager.route, *routers, **given)
    end_s = time.monotonic() + 30
    while (await call(client, manager))[0] != 200:
        assert time.monotonic() < end_s
        await asyncio.sleep(0.05)
    for upstream in upstreams:
        upstream.requests.clear()


def _api(folder: Path, port: int, grpc_port: int | None = None) -> Any:
    from ray.serve._private.haproxy import HAProxyApi, HAProxyConfig
    from ray.serve.config import HTTPOptions, gRPCOptions

    config = HAProxyConfig(
        http_options=HTTPOptions(host="127.0.0.1", port=port),
        grpc_options=gRPCOptions() if grpc_port is None else gRPCOptions(port=grpc_port, grpc_servicer_functions=["a"]),
        socket_path=f"{folder}/a.sock",
        server_state_base=str(folder),
        server_state_file=f"{folder}/state",
        metrics_socket_path=f"{folder}/m.sock",
        stats_port=find_free_port(),
        metrics_port=find_free_port(),
        nbthread=1,
        is_head=True,
    )
    return HAProxyApi(config, config_file_path=f"{folder}/haproxy.cfg")


def _backends(routers: list[tuple[str, int]], fallback: int | None) -> dict[str, Any]:
    from ray.serve._private.haproxy import BackendConfig, ServerConfig

    servers = [ServerConfig(name=name, host="127.0.0.1", port=port) for name, port in routers]
    behind = None if fallback is None else ServerConfig(name="fallback", host="127.0.0.1", port=fallback)
    backend = BackendConfig(name=BACKEND, path_prefix="/", app_name="accord", servers=servers, fallback_server=behind)
    return {BACKEND: backend}


async def _manage() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    api = _api(Path(sys.argv[1]), int(sys.argv[2]))
    await api.start()
    sys.stdout.write("ok\n")
    sys.stdout.flush()
    while line := await asyncio.to_thread(sys.stdin.readline):
        message = json.loads(line)
        if "stop" in message:
            await api.stop()
            sys.stdout.write("ok\n")
            return
        api.set_backend_configs(_backends([tuple(router) for router in message["routers"]], message["fallback"]))
        await api.reload()
        sys.stdout.write("ok\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_manage())
