"""Who may send batches to a worker, and whom a router takes for one."""

import asyncio
import os
import socket
from dataclasses import replace

import numpy as np
import pytest
from batch_socket_scene import connected, hung_up, open_local, open_network

from deployments.worker.sockets import link as link_module
from deployments.worker.sockets import server as server_module
from deployments.worker.sockets.link import BatchLink, LinkLost
from deployments.worker.sockets.peer import TOKEN_BYTES, meet_router, same_user

X = {"x": np.array([1], dtype=np.float32)}


async def test_a_socket_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError):
        await BatchLink.open_local("\0accord-worker-nobody")


async def test_a_router_does_not_send_to_a_process_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(open_local) as (worker, server, _):
        monkeypatch.setattr(link_module, "same_user", lambda end: False)
        with pytest.raises(PermissionError, match="another user"):
            await open_local(server)
        assert worker.asked == []


async def test_a_worker_hangs_up_on_a_process_of_another_user_before_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(open_local) as (worker, server, _):
        monkeypatch.setattr(server_module, "same_user", lambda end: False)
        link = await open_local(server)
        with pytest.raises(LinkLost):
            await link.run("v", X, "w", "r")
        assert worker.asked == []
        await hung_up(link)


async def test_who_is_at_the_other_end_is_what_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        assert same_user(one)
        another = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: another)
        assert not same_user(one)


async def test_a_router_that_was_told_another_token_takes_nothing_of_the_worker() -> None:
    async with connected(open_network) as (worker, server, _):
        address = await server.open_network("127.0.0.1")
        assert address is not None
        with pytest.raises(PermissionError, match="not that worker"):
            await BatchLink.open_network(replace(address, token=bytes(TOKEN_BYTES)))
        assert worker.asked == []


async def test_a_worker_reads_no_message_of_who_does_not_know_the_token() -> None:
    async with connected(open_network) as (_, server, _):
        address = await server.open_network("127.0.0.1")
        assert address is not None
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(bytes(16))
        await reader.readexactly(16 + 32)
        writer.write(bytes(32) + bytes(1000))  # no proof, and what would be a frame
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await reader.readexactly(1)
        writer.close()


async def test_a_worker_hangs_up_on_who_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MEETING_S", 0.05)
    async with connected(open_network) as (_, server, _):
        address = await server.open_network("127.0.0.1")
        assert address is not None
        reader, writer = await asyncio.open_connection(address.host, address.port)
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize(("repeats", "error"), [(0, ConnectionResetError), (3, PermissionError)])
async def test_a_listener_without_the_token_is_not_taken_for_the_worker(repeats: int, error: type[OSError]) -> None:
    """It hangs up, or sends back what the router sent, in place of a nonce and a proof of its own."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(repeats * await reader.readexactly(16))
        writer.close()

    async with connected(open_network) as (_, server, _), await asyncio.start_server(listen, "127.0.0.1", 0) as false:
        address = await server.open_network("127.0.0.1")
        assert address is not None
        with pytest.raises(error):
            await BatchLink.open_network(replace(address, port=false.sockets[0].getsockname()[1]))


async def test_the_token_is_not_in_what_is_printed() -> None:
    async with connected(open_network) as (_, server, _):
        address = await server.open_network("127.0.0.1")
        assert address is not None
        assert repr(address) == f"NetworkAddress(host='127.0.0.1', port={address.port})"


async def test_what_ray_encrypts_is_not_sent_in_the_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USE_TLS", "1")
    async with connected(open_local) as (_, server, _):
        assert await server.open_network("127.0.0.1") is None


async def test_both_ends_know_the_token_or_neither_goes_on() -> None:
    token = os.urandom(TOKEN_BYTES)
    met: list[Exception | None] = []

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await meet_router(reader, writer, token)
            met.append(None)
        except (PermissionError, asyncio.IncompleteReadError) as error:
            met.append(error)
        writer.close()

    async with await asyncio.start_server(meet, "127.0.0.1", 0) as worker:
        port = worker.sockets[0].getsockname()[1]
        for known in (token, os.urandom(TOKEN_BYTES)):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                await link_module.meet_worker(reader, writer, known)
            except PermissionError:
                writer.close()
            while len(met) < 1 + (known is not token):
                await asyncio.sleep(0.001)
            writer.close()
    assert met[0] is None
    assert isinstance(met[1], asyncio.IncompleteReadError)
