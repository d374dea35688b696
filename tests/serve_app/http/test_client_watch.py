"""A client that leaves is seen while its answer is made."""

import asyncio

from starlette.types import Message, Receive

from serve_app.http.client_watch import ClientWatch


class Client:
    """Its ``receive`` waits, as a server's does, until the client leaves."""

    def __init__(self) -> None:
        self._left = asyncio.Event()
        self.waiting = False

    async def receive(self) -> Message:
        self.waiting = True
        try:
            await self._left.wait()
        finally:
            self.waiting = False
        return {"type": "http.disconnect"}

    def leave(self) -> None:
        self._left.set()


async def test_it_is_told_once_when_the_client_leaves() -> None:
    told: list[str] = []
    client = Client()
    watch = ClientWatch(client.receive, lambda: told.append("gone"))
    await asyncio.sleep(0)
    assert (told, watch.gone, client.waiting) == ([], False, True)
    client.leave()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (told, watch.gone) == (["gone"], True)
    watch.end()
    assert told == ["gone"]


async def test_a_client_that_has_left_already_is_seen_at_once() -> None:
    client = Client()
    client.leave()
    assert ClientWatch(client.receive, lambda: None).gone


async def test_nothing_goes_on_waiting_once_it_ends() -> None:
    told: list[str] = []
    client = Client()
    watch = ClientWatch(client.receive, lambda: told.append("gone"))
    watch.end()
    assert not client.waiting
    client.leave()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (told, watch.gone) == ([], False)


async def test_a_server_that_lets_others_run_before_it_waits_is_followed() -> None:
    client = Client()

    def through(receive: Receive) -> Receive:
        async def slow() -> Message:
            await asyncio.sleep(0)
            return await receive()

        return slow

    watch = ClientWatch(through(client.receive), lambda: None)
    assert not client.waiting
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert client.waiting
    client.leave()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert watch.gone


async def test_it_cancels_a_task_that_waits_for_an_answer() -> None:
    client = Client()

    async def request() -> str:
        task = asyncio.current_task()
        assert task is not None
        watch = ClientWatch(client.receive, task.cancel)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            task.uncancel()
            return "gone" if watch.gone else "cancelled by somebody else"
        finally:
            watch.end()
        return "answered"

    waiting = asyncio.create_task(request())
    await asyncio.sleep(0)
    client.leave()
    assert await waiting == "gone"


async def test_a_client_that_leaves_when_its_answer_is_there_raises_nothing() -> None:
    raised: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: raised.append(context))
    told: list[str] = []
    client = Client()
    watch = ClientWatch(client.receive, lambda: told.append("gone"))
    await asyncio.sleep(0)
    client.leave()
    watch.end()
    for _ in range(3):
        await asyncio.sleep(0)
    assert (raised, told) == ([], [])
