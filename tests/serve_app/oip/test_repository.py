"""What callers are told of names that nothing is served under."""

from typing import Any, cast

import pytest

from catalog.errors import UnknownEndpoint
from deployments.controller.client import ControllerClient
from deployments.router.router import Router
from dispatch.plan import Plan
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.repository import Repository


class PlayedRouter:
    """Serves endpoints that are ready, and no variant."""

    routing: Any = None
    plan = Plan(1, {})

    def ready(self, _: str) -> bool:
        return True


@pytest.fixture
def repository() -> Repository:
    endpoints = {name: EndpointInfo(name, {"": "toy"}, (), (), (), 8) for name in ("public", "secret")}
    return Repository(cast(Router, PlayedRouter()), endpoints, cast(ControllerClient, None))


def test_whoever_asks_whether_something_unknown_is_ready_learns_no_other_names(repository: Repository) -> None:
    assert repository.ready("public")
    with pytest.raises(UnknownEndpoint) as caught:
        repository.ready("zzz")
    assert str(caught.value) == "no endpoint or variant 'zzz'"


async def test_who_may_load_variants_is_told_what_there_is(repository: Repository) -> None:
    for change in (repository.load("zzz", {}), repository.unload("zzz")):
        with pytest.raises(UnknownEndpoint, match="no endpoint or variant 'zzz'; endpoints here: public, secret; POST"):
            await change
