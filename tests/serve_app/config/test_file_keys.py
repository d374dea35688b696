"""Keys of a Serve config file: those that Ray reads, and no others."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import AliasChoices, BaseModel
from ray.serve.schema import ServeDeploySchema

from serve_app.config.file_keys import SERVE_FILE, Section, unknown_keys

ROOT = Path(__file__).parents[3]
FILES = [*(ROOT / "configs").glob("*.yaml"), ROOT / "chaos/services/digits.yaml"]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]


def models(annotation: Any) -> list[type[BaseModel]]:
    """The models that a field may hold, by itself or in a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in get_args(annotation) for model in models(inner)]


def names(model: type[BaseModel]) -> set[str]:
    """What Ray takes for a field of a model, aliases among it."""
    found = set()
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        aliases = {choice for choice in choices if isinstance(choice, str)}
        found |= aliases | ({name} if not aliases or model.model_config.get("populate_by_name") else set())
    return found


def pairs(section: Section, model: type[BaseModel], where: str = "") -> Iterator[tuple[str, Section, type[BaseModel]]]:
    yield where, section, model
    for key, inner in section.sections.items():
        (held,) = models(model.model_fields[key].annotation)
        yield from pairs(inner, held, f"{where}.{key}")


def served_in(page: Path) -> Iterator[dict[str, Any]]:
    """The Serve config files, or parts of such, that a page shows."""
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        content = yaml.safe_load(block)
        if isinstance(content, dict) and content.keys() & set(SERVE_FILE.keys):
            yield content


@pytest.mark.parametrize(
    ("section", "model"),
    [pytest.param(*pair, id=where or "the file") for where, *pair in pairs(SERVE_FILE, ServeDeploySchema)],
)
def test_the_keys_are_those_of_the_schema_of_ray_as_installed(section: Section, model: type[BaseModel]) -> None:
    assert set(section.keys) == names(model), "write them into serve_app/config/file_keys.py"


def test_every_section_at_the_top_and_of_an_application_is_looked_into() -> None:
    for where, section, model in pairs(SERVE_FILE, ServeDeploySchema):
        if "deployments" not in where:
            held = {name for name, field in model.model_fields.items() if models(field.annotation)}
            assert held == section.sections.keys(), where


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_that_come_with_accord_have_no_other_keys(path: Path) -> None:
    assert not list(unknown_keys(yaml.safe_load(path.read_text(encoding="utf-8"))))


def test_files_that_the_docs_show_have_no_other_keys() -> None:
    shown = [(page.name, content) for page in PAGES for content in served_in(page)]
    assert {"README.md", "configuration.md", "controller.md", "security.md"} <= {name for name, _ in shown}
    for name, content in shown:
        assert not list(unknown_keys(content)), name


@pytest.mark.parametrize(
    ("content", "path", "near"),
    [
        ({"http_option": {}}, "http_option", "http_options"),
        ({"http_options": {"prt": 8124}}, "http_options.prt", "port"),
        (
            {"grpc_options": {"grpc_servicer_function": []}},
            "grpc_options.grpc_servicer_function",
            "grpc_servicer_functions",
        ),
        ({"logging_config": {"log_lvl": "INFO"}}, "logging_config.log_lvl", "log_level"),
        ({"controller_options": {"runtim_env": {}}}, "controller_options.runtim_env", "runtime_env"),
        ({"tracing_config": {"enable": True}}, "tracing_config.enable", "enabled"),
        ({"applications": [{}, {"rout_prefix": "/"}]}, "applications[1].rout_prefix", "route_prefix"),
        (
            {"applications": [{"logging_config": {"log_dir": "/tmp"}}]},
            "applications[0].logging_config.log_dir",
            "logs_dir",
        ),
        (
            {"applications": [{"deployments": [{"user_confg": {}}]}]},
            "applications[0].deployments[0].user_confg",
            "user_config",
        ),
        (
            {"applications": [{"deployments": [{"ray_actor_options": {"num_cpu": 1}}]}]},
            "applications[0].deployments[0].ray_actor_options.num_cpu",
            "num_cpus",
        ),
    ],
)
def test_another_key_is_named_with_the_nearest(content: dict[str, Any], path: str, near: str) -> None:
    (fault,) = unknown_keys(content)
    assert fault.startswith(f"{path} is unknown (did you mean {near!r}?); known here: ")


def test_there_is_a_sentence_for_every_other_key() -> None:
    assert list(unknown_keys({"grpc_options": {"prot": 1, "port": 2}, "tracing_config": {7: 8, "sampling": 1}})) == [
        "grpc_options.prot is unknown (did you mean 'port'?); known here: port, grpc_servicer_functions, "
        "request_timeout_s, enable_reflection",
        "tracing_config.7 is unknown; known here: enabled, exporter_import_path, sampling_ratio",
        "tracing_config.sampling is unknown (did you mean 'sampling_ratio'?); known here: enabled, "
        "exporter_import_path, sampling_ratio",
    ]


@pytest.mark.parametrize(
    "content",
    [
        {"http_options": None, "applications": None},
        {"http_options": [], "grpc_options": 7, "applications": [7, None, []]},
        {"applications": [{"args": {"anything": 1}, "runtime_env": {"any": 1}, "deployments": "none"}]},
        {"applications": [{"deployments": [{"user_config": {"any": 1}, "autoscaling_config": {"any": 1}}]}]},
    ],
)
def test_what_holds_no_keys_of_the_schema_is_passed_over(content: dict[str, Any]) -> None:
    assert not list(unknown_keys(content))


def test_a_long_key_is_not_shown_in_full() -> None:
    (fault,) = unknown_keys({"x" * 5000: 1})
    assert len(fault) < 300
