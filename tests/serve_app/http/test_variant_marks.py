"""What is emulated is marked, ensembles by any of their members."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from catalog.evaluation.measured import AccuracyOrigin, AccuracySource, Measured
from deployments.router.router import Router
from dispatch.commands import Answer
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.http.variant_marks import accuracy_origin, answer_marks, emulated_variants, mark_origins, mark_status


def info(name: str, *emulated: str) -> EndpointInfo:
    return EndpointInfo(name, {"": "digits"}, (), (), (), 8, frozenset(emulated))


def routed(routing: Any = None) -> Router:
    return cast(Router, SimpleNamespace(routing=routing))


STAGES = ("stage", "one", "two")


def marked(answers: dict[str, Any], emulated: set[str], stages: tuple[str, ...]) -> Iterator[bool]:
    """Of answers' variants, of an endpoint with these stages, whether they are marked."""
    endpoint = {"variants": answers, "stages": {name: {} for name in stages}}
    shown = mark_status({"endpoints": {"e": endpoint}, "workers": {}}, emulated)["endpoints"]["e"]["variants"]
    return (each["emulated"] for each in shown.values())


def test_before_the_first_word_of_the_controller_it_is_what_the_service_began_with() -> None:
    assert emulated_variants(routed(), info("one", "a"), info("two", "b", "c")) == {"a", "b", "c"}
    assert emulated_variants(routed()) == frozenset()


@pytest.mark.parametrize("name", ["bert:v2", "a+b", "a,b", "x:a+b,c"])
@pytest.mark.parametrize("variant", ["{}", "{}+z", "z+{}", "stage:{}", "one:z+two:y,{}", "one:{},y+two:z"])
def test_names_with_any_characters_are_found(name: str, variant: str) -> None:
    answers = {variant.format(each): {} for each in (name, "other")}
    assert list(marked(answers, {name}, STAGES if ":" in variant else ())) == [True, False]


@pytest.mark.parametrize(
    ("variant", "stages", "is_emulated"),
    [
        ("a:b", (), False),
        ("a,b", (), False),
        ("a:b+b", (), True),
        ("one:a:b", STAGES, False),
        ("one:a:b+two:c", STAGES, False),
        ("one:c,a:b+two:b", STAGES, True),
        ("one:c+two:a:b,b", STAGES, True),
    ],
)
def test_a_name_with_another_at_its_end_is_not_taken_for_that(
    variant: str, stages: tuple[str, ...], is_emulated: bool
) -> None:
    assert list(marked({variant: {}}, {"b"}, stages)) == [is_emulated]


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


ORIGINS = {
    "a": AccuracyOrigin(AccuracySource.MEASURED, Measured("accuracy", 0.88, 0.92, 900)),
    "b": AccuracyOrigin(AccuracySource.DECLARED),
}


def told(labelled: int, right: int) -> dict[str, Any]:
    """The endpoint's record, with so many labels for each of two variants."""
    router = routed(SimpleNamespace(origins=ORIGINS))
    truth = {"members": {name: {"labelled": labelled, "right": right} for name in ("a", "b", "c")}}
    variants = {"a": {"expected_accuracy": 0.9}, "b": {"expected_accuracy": 0.5}, "a+b": {"expected_accuracy": 0.95}}
    status = {"endpoints": {"digits": {"variants": variants, "ground_truth": truth}}}
    return dict(mark_origins(status, router)["endpoints"]["digits"])


def test_accuracies_are_measured_declared_or_estimated() -> None:
    variants = told(0, 0)["variants"]
    assert {name: each["accuracy_source"] for name, each in variants.items()} == {
        "a": "measured",
        "b": "declared",
        "a+b": "estimated",
    }
    assert variants["a"]["measured"] == {"metric": "accuracy", "low": 0.88, "high": 0.92, "examples": 900}
    assert variants["b"]["measured"] is None
    assert accuracy_origin(routed(), "a").source is AccuracySource.ESTIMATED


@pytest.mark.parametrize(
    ("labelled", "right", "alarmed"),
    [(0, 0, []), (10, 5, []), (300, 265, []), (300, 180, ["a"]), (300, 60, ["a", "b"])],
)
def test_labels_that_contradict_an_accuracy_are_an_alert(labelled: int, right: int, alarmed: list[str]) -> None:
    alerts = told(labelled, right)["ground_truth"]["alerts"]
    assert [alert.split()[4] for alert in alerts] == alarmed
    assert all(f"is right in {right} of {labelled} rows" in alert for alert in alerts)


@pytest.mark.parametrize(
    ("variant", "marks"),
    [
        ("a", {"accuracy_source": "measured"}),
        ("b", {"accuracy_source": "declared", "emulated": True}),
        ("a+c", {"accuracy_source": "estimated"}),
    ],
)
def test_an_answer_says_where_its_accuracy_comes_from_and_whether_a_model_ran(
    variant: str, marks: dict[str, Any]
) -> None:
    router = routed(SimpleNamespace(origins=ORIGINS, emulated=frozenset({"b"})))
    given = cast(Answer, SimpleNamespace(variant=variant, variants=(variant,)))
    assert answer_marks(router, info("digits"), given) == marks
