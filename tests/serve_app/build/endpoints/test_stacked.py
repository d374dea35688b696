"""Stacked ensembles serve the endpoints that declare them, by the build and by the controller alike."""

from dataclasses import replace
from typing import Any

from catalog.catalogue import Catalogue, load_catalogue
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.variant import STACKED
from deployments.controller.variants.variant_book import VariantBook
from deployments.messages.control_settings import ControlSettings
from dispatch.query import ONLY_STAGE
from serve_app.build.candidates import stage_variants
from serve_app.build.control import control_settings
from serve_app.build.endpoints.stacked import with_stacked
from serve_app.config.schema import AppConfig

DIGITS = load_catalogue("builtin")
FIRST, SECOND, THIRD = (variant.name for variant in DIGITS.of_task("digits")[:3])
BOTH = f"{FIRST}+{SECOND}"
DECLARED = {"sets": [[FIRST, SECOND]]}
STRIPS = {
    "pipeline": {
        "stages": {
            "find": {"task": "strip-find", "inputs": {"image": "query.image"}},
            "read": {
                "task": "digits",
                "adapter": "catalog.zoo.strips.adapters:crop",
                "inputs": {"image": "query.image", "starts": "find.starts"},
            },
        }
    }
}


def config(**endpoints: dict[str, Any]) -> AppConfig:
    given = {name: {"slo_ms": 100} | endpoint for name, endpoint in endpoints.items()}
    return AppConfig.model_validate({"endpoints": given, "pools": {"cpu": {}}})


def settings_of(app: AppConfig, catalogue: Catalogue) -> ControlSettings:
    measured = LatencyProfile("cpu", {n: BatchLatency(10, n, 0, n, n, n, n) for n in (1, 64)})
    return control_settings(app, catalogue, {"cpu": {variant.name: measured for variant in catalogue.variants}})


def of_the_build(app: AppConfig, catalogue: Catalogue) -> dict[str, dict[str, list[str]]]:
    """Endpoint to stage to the names of the variants that may run it at the start."""
    stages = {name: stage_variants(name, endpoint, catalogue) for name, endpoint in app.endpoints.items()}
    return {name: {stage: [v.name for v in own] for stage, own in by.items()} for name, by in stages.items()}


def of_the_controller(settings: ControlSettings) -> dict[str, dict[str, list[str]]]:
    """The same, of those that the controller plans with."""
    book = VariantBook(settings)
    return {
        name: {stage: [v.name for v in book.of_stage(each)] for stage, each in endpoint.stages.items()}
        for name, endpoint in settings.endpoints.items()
    }


def test_the_controller_plans_with_the_variants_of_the_build() -> None:
    app = config(
        listed={"task": "digits", "variants": [FIRST, SECOND], "stacked": DECLARED},
        other={"task": "digits", "variants": [FIRST, THIRD], "stacked": {"sets": [[FIRST, THIRD]]}},
        every={"task": "digits", "stacked": DECLARED},
        plain={"task": "digits"},
        few={"task": "digits", "variants": [FIRST, SECOND]},
        vote={"task": "digits", "ensemble": {}, "variants": [FIRST, SECOND]},
        strips=STRIPS,
    )
    catalogue = with_stacked(app, DIGITS)
    planned = of_the_controller(settings_of(app, catalogue))
    assert planned == of_the_build(app, catalogue)
    assert planned["listed"][ONLY_STAGE] == [FIRST, SECOND, BOTH]
    assert planned["other"][ONLY_STAGE] == [FIRST, THIRD, f"{FIRST}+{THIRD}"]
    assert [name for name in planned["every"][ONLY_STAGE] if "+" in name] == [BOTH]
    for stage in (planned["plain"][ONLY_STAGE], planned["few"][ONLY_STAGE], planned["strips"]["read"]):
        assert not any("+" in name for name in stage)


def test_a_stacked_ensemble_is_a_candidate_where_it_is_declared_and_nowhere_else_in_its_pool() -> None:
    app = config(
        listed={"task": "digits", "variants": [FIRST, SECOND], "stacked": DECLARED},
        plain={"task": "digits"},
        strips=STRIPS,
    )
    settings = settings_of(app, with_stacked(app, DIGITS))
    assert ("cpu", BOTH) in settings.profiled_s
    book = VariantBook(settings)
    offered = {
        name: [each.variant for each in book.candidates(endpoint, lambda _: 1.0, lambda _: 1.0, ())["cpu"]]
        for name, endpoint in settings.endpoints.items()
    }
    assert offered["listed"] == [FIRST, SECOND, BOTH]
    assert BOTH not in offered["plain"] + offered["strips"]
    assert {name: each.takes("digits", BOTH) for name, each in settings.endpoints.items()} == {
        "listed": True,
        "plain": False,
        "strips": False,
    }


def test_a_stacked_variant_that_is_registered_serves_endpoints_that_list_no_variants() -> None:
    app = config(listed={"task": "digits", "variants": [FIRST, SECOND], "stacked": DECLARED}, plain={"task": "digits"})
    catalogue = with_stacked(app, DIGITS)
    settings = settings_of(app, catalogue)
    book = VariantBook(settings)
    later = replace(catalogue.variant(BOTH), name="later")
    assert later.runtime == STACKED
    book.add(later, {"cpu": settings.profiled_s["cpu", BOTH]}, 1)
    serving = {name: [v.name for v in book.of_endpoint(each)] for name, each in settings.endpoints.items()}
    assert "later" in serving["plain"]
    assert "later" not in serving["listed"]
    assert settings.endpoints["plain"].takes("digits", "later")
