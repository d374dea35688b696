"""What is emulated is marked, ensembles by any of their members."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from deployments.router.router import Router
from serve_app.http.emulated_marks import emulated_variants, mark_status
from serve_app.http.endpoint_info import EndpointInfo


def info(name: str, *emulated: str) -> EndpointInfo:
    return EndpointInfo(name, {"": "digits"}, (), (), (), 8, frozenset(emulated))


def routed(routing: Any = None) -> Router:
    return cast(Router, SimpleNamespace(routing=routing))


def test_before_the_first_word_of_the_controller_it_is_what_the_service_began_with() -> None:
    assert emulated_variants(routed(), info("one", "a"), info("two", "b", "c")) == {"a", "b", "c"}
    assert emulated_variants(routed()) == frozenset()


def test_the_controllers_word_counts_from_then_on() -> None:
    now = SimpleNamespace(emulated=frozenset({"z"}))
    assert emulated_variants(routed(now), info("one", "a")) == {"z"}


@pytest.mark.parametrize(
    ("variant", "marked"),
    [("a", True), ("b", False), ("b+a", True), ("a+c", True), ("b+c", False), ("ab", False)],
)
def test_a_variant_is_marked_and_an_ensemble_by_any_of_its_members(variant: str, marked: bool) -> None:
    entry = {"queries": 3, "share": 1.0}
    status = {
        "routers": ["r1"],
        "endpoints": {"digits": {"arrived": 3, "variants": {variant: entry}}},
        "workers": {"w1": {"loaded": ["a", "b"], "state": "idle"}, "w2": {"loaded": [], "state": "idle"}},
    }
    shown = mark_status(status, {"a"})
    assert shown["endpoints"]["digits"] == {"arrived": 3, "variants": {variant: entry | {"emulated": marked}}}
    assert shown["workers"] == {
        "w1": {"loaded": ["a", "b"], "state": "idle", "emulated": ["a"]},
        "w2": {"loaded": [], "state": "idle", "emulated": []},
    }
    assert shown["routers"] == ["r1"]
    assert "emulated" not in entry
