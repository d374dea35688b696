"""The ingress as other routers reach it."""

from types import SimpleNamespace
from typing import cast

from dispatch.query import NORMAL_PRIORITY
from serve_app.build.ingress import Ingress


async def test_a_router_answers_for_a_peer_with_priority_and_age_as_it_was_told_and_the_usual_ones_otherwise() -> None:
    calls: list[tuple[object, ...]] = []

    async def infer_for_peer(*args: object) -> str:
        calls.append(args)
        return "answer"

    ingress = cast(Ingress, SimpleNamespace(_router=SimpleNamespace(infer_for_peer=infer_for_peer)))
    await Ingress.infer_for_peer(ingress, "digits", {}, 3, 0.2, None, 1, age_s=0.05)
    await Ingress.infer_for_peer(ingress, "digits", {}, 3, 0.2, None)
    assert calls == [("digits", {}, 3, 0.2, None, 1, 0.05), ("digits", {}, 3, 0.2, None, NORMAL_PRIORITY, 0.0)]
