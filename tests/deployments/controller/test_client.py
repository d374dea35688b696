"""The way to the controller: a real local cluster for what Serve makes of errors, a played handle for the rest."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from ray import serve
from ray.exceptions import RayTaskError
from ray.serve.handle import DeploymentHandle

from catalog.errors import BadRequest, ConfigError, NoController
from deployments.controller import client as controller_client
from deployments.controller.client import ControllerClient
from deployments.messages.control import RouterState

DIGITS = {"name": "digits-xl"}


class PlayedHandle:
    """Every method of the controller gives what ``answer`` gives for its arguments; keeps the calls."""

    def __init__(self, answer: Callable[..., Awaitable[Any]]) -> None:
        self._answer = answer
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return _Method(name, self)

    async def call(self, name: str, *args: Any) -> Any:
        self.calls.append((name, *args))
        return await self._answer(*args)


class _Method:
    def __init__(self, name: str, handle: PlayedHandle) -> None:
        self._name = name
        self._handle = handle

    def remote(self, *args: Any) -> Awaitable[Any]:
        return self._handle.call(self._name, *args)


def played(answer: Callable[..., Awaitable[Any]]) -> tuple[ControllerClient, PlayedHandle]:
    handle = PlayedHandle(answer)
    return ControllerClient(cast(DeploymentHandle, handle)), handle


async def never(*_: Any) -> None:
    await asyncio.Event().wait()


def raising(error: Exception) -> Callable[..., Awaitable[Any]]:
    async def answer(*_: Any) -> None:
        raise error

    return answer


def remote_error(cause: Exception) -> Exception:
    """As Ray raises what a task raised."""
    made: Exception = RayTaskError("plan", "the traceback from over there", cause).as_instanceof_cause()
    return made


async def test_every_method_asks_the_controller_for_the_same() -> None:
    async def answer(*args: Any) -> Any:
        return {"asked": args}

    client, handle = played(answer)
    router_state = RouterState("r1", 3, frozenset())
    assert await client.simulate({"digits": 2.0}) == {"asked": ({"digits": 2.0},)}
    await client.plan()
    await client.plans()
    await client.register(DIGITS)
    await client.stand(router_state)
    await client.routing_table("r1", 3, 20.0)
    assert handle.calls == [
        ("simulate", {"digits": 2.0}),
        ("plan",),
        ("plans",),
        ("register", DIGITS),
        ("stand", router_state),
        ("routing_table", "r1", 3, 20.0),
    ]


async def test_a_controller_that_does_not_answer_in_time_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller_client, "ANSWER_S", 0.02)
    client, _ = played(never)
    with pytest.raises(NoController, match=r"did not answer within 0\.05 s"):
        await client.routing_table("r1", 0, 0.03)


async def test_an_error_for_people_comes_out_as_it_was_raised() -> None:
    client, _ = played(raising(remote_error(ConfigError("no pool 'gpu'; there is cpu"))))
    with pytest.raises(ConfigError) as caught:
        await client.plan()
    assert type(caught.value) is ConfigError
    assert str(caught.value) == "no pool 'gpu'; there is cpu"


@pytest.mark.parametrize("cause", [KeyError("x"), TimeoutError("solver")])
async def test_what_goes_wrong_in_the_controller_is_told_in_one_line(cause: Exception) -> None:
    client, _ = played(raising(remote_error(cause)))
    with pytest.raises(NoController) as caught:
        await client.plan()
    assert f"({type(cause).__name__}: {cause})" in str(caught.value)
    assert "traceback" not in str(caught.value)
    assert caught.value.retryable


async def test_a_call_that_never_reached_the_controller_is_told_as_well() -> None:
    client, _ = played(raising(RuntimeError("the replica died")))
    with pytest.raises(NoController, match="the replica died"):
        await client.plans()


async def test_a_caller_who_gives_up_is_cancelled() -> None:
    client, handle = played(never)
    call = asyncio.create_task(client.plan())
    while not handle.calls:
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


@serve.deployment(name="Controller", ray_actor_options={"num_cpus": 0.1})
class SmallController:
    async def simulate(self, load_qps: dict[str, float]) -> dict[str, Any]:
        if "nobody" in load_qps:
            raise BadRequest("no endpoint 'nobody'; endpoints here: digits")
        return {"load_qps": load_qps}

    async def plans(self) -> list[dict[str, Any]]:
        raise KeyError("broken")


@pytest.mark.cluster
@pytest.mark.timeout(300)
async def test_answers_and_errors_of_a_real_deployment_come_back_as_they_left(
    ray_cluster: None, free_port: int
) -> None:
    await asyncio.to_thread(serve.start, http_options={"host": "127.0.0.1", "port": free_port})
    handle = await asyncio.to_thread(serve.run, SmallController.bind(), name="controller", route_prefix=None)
    client = ControllerClient(handle)
    assert await client.simulate({"digits": 5.0}) == {"load_qps": {"digits": 5.0}}
    with pytest.raises(BadRequest) as caught:
        await client.simulate({"nobody": 5.0})
    assert str(caught.value) == "no endpoint 'nobody'; endpoints here: digits"
    with pytest.raises(NoController, match="KeyError: 'broken'"):
        await client.plans()
