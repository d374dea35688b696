"""`accord-haproxy` under Ray's own manager class: real HAProxy, real signals, routers of a few lines."""

import asyncio
import json
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import aiohttp
import psutil
import pytest
from aiohttp import web

from haproxy_scene import BACKEND, INFER, Manager, Upstream, call, managed, served, until
from serve_app.http.in_front.refusals import HEADER as REFUSED
from serve_app.http.in_front.request_age import HEADER, RequestAge, boot_id
from serve_app.proxy.admin_socket import ask
from serve_app.testing.free_ports import find_free_port

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def manager() -> Iterator[Manager]:
    with managed() as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        yield session


async def fine(request: web.BaseRequest) -> web.Response:
    return web.Response(text="fine", headers={"x-accord-wait": "7", "x-accord-refusing": "3"})


async def again(client: aiohttp.ClientSession, manager: Manager) -> list[int | str]:
    """What clients see until they are served."""
    seen: list[int | str] = []
    end_s = time.monotonic() + 30
    while not seen or seen[-1] != 200:
        assert time.monotonic() < end_s, seen
        try:
            seen.append((await call(client, manager))[0])
        except aiohttp.ClientConnectionError:
            seen.append("refused")
        await asyncio.sleep(0.01)
    return seen


async def test_paths_that_serve_has_not_told_of_yet_are_loading(
    manager: Manager, client: aiohttp.ClientSession
) -> None:
    status, body, headers = await call(client, manager)
    assert (status, json.loads(body)["reason"], headers["Retry-After"]) == (503, "Loading", "1")


async def test_a_request_carries_the_proxys_instant_and_never_the_clients(
    manager: Manager, client: aiohttp.ClientSession
) -> None:
    async with Upstream(fine) as router:
        await served(client, manager, router)
        _, _, headers = await call(client, manager, headers={HEADER.decode(): f"1-{boot_id()}"})
        (request,) = router.requests
    assert len(request.headers.getall(HEADER.decode())) == 1
    age_s = RequestAge(boot_id()).age_s([(HEADER, request.headers[HEADER.decode()].encode())])
    assert 0 < age_s < 60
    assert not {"x-accord-wait", "x-accord-refusing"} & set(map(str.lower, headers))


async def test_haproxy_that_is_killed_is_back_while_serve_notices_nothing(
    manager: Manager, client: aiohttp.ClientSession
) -> None:
    async with Upstream(fine) as router:
        await served(client, manager, router)
        (haproxy,) = manager.processes("haproxy")
        supervisor = manager.supervisor().pid
        haproxy.kill()
        assert 404 not in await again(client, manager)
        assert manager.supervisor().pid == supervisor
        await served(client, manager, router)  # and the next change of routes works


async def test_haproxy_serves_on_while_its_manager_is_replaced(manager: Manager, client: aiohttp.ClientSession) -> None:
    async with Upstream(fine) as router:
        await served(client, manager, router)
        (before,) = manager.processes("haproxy")
        replaced = asyncio.create_task(asyncio.to_thread(manager.replace))
        while not replaced.done():
            assert (await call(client, manager))[0] == 200
            await asyncio.sleep(0.01)
        await replaced
        assert (await call(client, manager))[0] == 200  # the new manager's, with the routes of before
        await served(client, manager, router)
        await asyncio.to_thread(until, lambda: not before.is_running())


async def test_haproxy_serves_on_without_its_supervisor_until_the_next_manager(
    manager: Manager, client: aiohttp.ClientSession
) -> None:
    async with Upstream(fine) as router:
        await served(client, manager, router)
        manager.supervisor().kill()
        assert (await call(client, manager))[0] == 200
        await asyncio.sleep(2)  # a manager that goes with its supervisor is taken for the end of the service
        await asyncio.to_thread(manager.replace)
        assert (await call(client, manager))[0] == 200
        await served(client, manager, router)


async def test_nothing_is_left_when_serve_stops_its_proxy(manager: Manager, client: aiohttp.ClientSession) -> None:
    async with Upstream(fine) as router:
        await served(client, manager, router)
        await asyncio.to_thread(manager.stop)
        await asyncio.to_thread(until, lambda: not manager.processes(), 60.0)


async def test_what_a_dead_router_had_in_hand_goes_to_the_other_one(
    manager: Manager, client: aiohttp.ClientSession
) -> None:
    async def die(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with Upstream(fine) as router:
        await served(client, manager, router)
        async with Upstream(die) as dying:
            await asyncio.to_thread(manager.route, ("dying", dying.port))
            await asyncio.to_thread(manager.route, ("dying", dying.port), ("r0", router.port))
            answers = [await call(client, manager) for _ in range(8)]
            assert dying.requests
    assert [status for status, _, _ in answers] == [200] * 8


async def test_what_changes_something_is_not_sent_twice(manager: Manager, client: aiohttp.ClientSession) -> None:
    came = 0

    async def die(request: web.BaseRequest) -> web.Response:
        nonlocal came
        if request.path == INFER:
            return await fine(request)
        came += 1
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with Upstream(die) as router:
        await served(client, manager, router)
        with suppress(aiohttp.ServerDisconnectedError):  # HAProxy's answer where its connection had been used before
            status, body, headers = await call(client, manager, "/accord/variants")
            assert (status, json.loads(body)["reason"], headers["Retry-After"]) == (503, "Unreachable", "1")
    assert came == 1


async def test_more_than_the_window_and_the_queue_hold_is_refused_at_once(
    manager: Manager, client: aiohttp.ClientSession
) -> None:
    hold = asyncio.Event()
    hold.set()

    async def held(request: web.BaseRequest) -> web.Response:
        await hold.wait()
        return web.Response(text="fine", headers={"x-accord-wait": "0"})

    async with Upstream(held) as router, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as many:
        await served(client, manager, router)
        await ask(f"{manager.folder}/h.sock", f"set maxconn server {BACKEND}/r0 4")
        hold.clear()
        asked = [asyncio.create_task(call(many, manager)) for _ in range(60)]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        status, body, headers = done.pop().result()
        looking = asyncio.create_task(call(many, manager, "/accord/status"))
        hold.set()
        assert (await looking)[0] == 200  # whoever looks at the service waits for a place
        statuses = [answer[0] for answer in await asyncio.gather(*asked)]
    assert (status, json.loads(body)["reason"], headers["Retry-After"]) == (429, "Saturated", "1")
    assert set(statuses) <= {200, 429}
    assert statuses.count(200) >= 4


async def test_the_next_request_tells_how_many_of_its_path_were_refused_before_it(
    manager: Manager, client: aiohttp.ClientSession
) -> None:
    hold = asyncio.Event()
    hold.set()

    async def held(request: web.BaseRequest) -> web.Response:
        await hold.wait()
        return web.Response(text="fine", headers={"x-accord-wait": "0"})

    async def told(path: str = INFER) -> str | None:
        router.requests.clear()
        await call(client, manager, path, headers={REFUSED.decode(): f"9999-1-{boot_id()}"})
        return router.requests[-1].headers.get(REFUSED.decode())

    async with Upstream(held) as router, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as many:
        await served(client, manager, router)
        await ask(f"{manager.folder}/h.sock", f"set maxconn server {BACKEND}/r0 4")
        (haproxy,) = manager.processes("haproxy")
        suffix = f"-{haproxy.pid}-{boot_id()}"
        assert await told() == f"0{suffix}", "and not what the client says"
        hold.clear()
        asked = [asyncio.create_task(call(many, manager)) for _ in range(60)]
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        hold.set()
        refused = [answer[0] for answer in await asyncio.gather(*asked)].count(429)
        assert refused > 0
        assert await told() == f"{refused}{suffix}"
        assert await told(f"{INFER}?once=more") == f"{refused}{suffix}"
        assert await told("/v2/models/other/infer") == f"0{suffix}"
        assert await told("/accord/status") is None, "nothing else is refused, and clients are not believed"


@pytest.mark.parametrize(("wait_pct", "refusing_pct"), [(400, 0), (0, 400)])
async def test_a_router_that_tells_of_long_waits_or_many_refusals_gets_fewer_requests(
    wait_pct: int, refusing_pct: int, manager: Manager, client: aiohttp.ClientSession
) -> None:
    told = {"x-accord-wait": str(wait_pct), "x-accord-refusing": str(refusing_pct)}

    async def slow(request: web.BaseRequest) -> web.Response:
        await asyncio.sleep(0.02)
        return web.Response(text="fine", headers=told)

    async with Upstream(slow) as router, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as many:
        await served(client, manager, router)
        over = asyncio.Event()

        async def ask_on() -> None:
            while not over.is_set():
                await call(many, manager)

        asking = [asyncio.create_task(ask_on()) for _ in range(200)]
        end_s = time.monotonic() + 30
        while b"maxconn 128" in (line := await window(manager)):
            assert time.monotonic() < end_s, line
            await asyncio.sleep(0.1)
        over.set()
        await asyncio.gather(*asking)


async def window(manager: Manager) -> bytes:
    text = (await ask(f"{manager.folder}/h.sock", f"show stat {BACKEND} 4 -1")).decode().removeprefix("# ")
    names, values = (line.split(",") for line in text.splitlines()[:2])
    return f"maxconn {dict(zip(names, values, strict=True))['slim']}".encode()


async def test_a_configuration_that_haproxy_does_not_take_ends_with_its_exit_code(
    manager: Manager, tmp_path: Path
) -> None:
    text = (manager.folder / "haproxy.cfg").read_text().replace(f"{manager.folder}", str(tmp_path))
    (tmp_path / "haproxy.cfg").write_text(text + "\nbackend broken\n    no such keyword\n")
    done = await asyncio.to_thread(
        subprocess.run,
        [str(manager.folder / "accord-haproxy"), "-db", "-f", str(tmp_path / "haproxy.cfg")],
        env=psutil.Process(manager.process.pid).environ(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Fatal errors found in configuration" in done.stderr


async def test_with_a_certificate_it_speaks_tls_as_well(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    pem = tmp_path / "both.pem"
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate)]
    await asyncio.to_thread(subprocess.run, [*made, *subject], check=True, capture_output=True)
    pem.write_bytes(certificate.read_bytes() + key.read_bytes())
    context = ssl.create_default_context(cafile=str(certificate))
    port = find_free_port()
    with managed({"ACCORD_TLS_CERT": str(pem), "ACCORD_TLS_BIND": f"127.0.0.1:{port}"}) as manager:
        async with client.get(f"https://127.0.0.1:{port}/", ssl=context) as answer:
            assert answer.status == 503
        with pytest.raises(aiohttp.ClientError):
            await client.get(f"http://127.0.0.1:{port}/")
        assert (await call(client, manager))[0] == 503  # plain HTTP on its own port, as before
