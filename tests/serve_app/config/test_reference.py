"""The reference of the config in the docs."""

import pytest
from pydantic import BaseModel

from serve_app.config.live_changes import LiveChanges
from serve_app.config.reference import BEGIN, END, PAGE, sections, table, with_reference
from serve_app.config.schema import AppConfig


def test_the_page_has_what_the_schema_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_reference(page) == page, "run python -m serve_app.config.reference"


@pytest.mark.parametrize("model", [AppConfig, LiveChanges])
def test_every_field_is_described(model: type[BaseModel]) -> None:
    for path, section in sections(model):
        for name, field in section.model_fields.items():
            assert field.description, f"{path}.{name}"


def test_sections_are_found_wherever_they_stand() -> None:
    assert {path for path, _ in sections(AppConfig)} == {
        "",
        "endpoints.NAME",
        "endpoints.NAME.admission",
        "endpoints.NAME.ensemble",
        "endpoints.NAME.pipeline",
        "endpoints.NAME.pipeline.stages.NAME",
        "endpoints.NAME.pipeline.stages.NAME.when",
        "endpoints.NAME.pipeline.stages.NAME.unless",
        "endpoints.NAME.pipeline.answer",
        "endpoints.NAME.stacked",
        "endpoints.NAME.selection",
        "endpoints.NAME.selection.ladder[]",
        "endpoints.NAME.shadow",
        "pools.NAME",
        "clients",
        "clients.named.NAME",
        "controller",
        "controller.forecast",
        "controller.interference",
        "controller.ipa",
        "artifacts",
        "security",
        "security.api_keys.NAME",
        "security.jwt",
        "controller.proteus",
        "emulate",
    }


def test_a_row_has_default_bounds_and_meaning() -> None:
    (controller,) = [section for path, section in sections(AppConfig) if path == "controller"]
    assert "| `interval_s` | `10.0` | > 0 | a plan at least so often, in seconds |" in table(controller).splitlines()


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="the page has no"):
        with_reference(f"{BEGIN} and no end")
    assert with_reference(f"a {BEGIN}{END} b").endswith(" b")
