"""What is said where a part of the installation is missing."""

import importlib.util
from importlib.machinery import ModuleSpec

import pytest

from catalog import extras
from catalog.errors import ConfigError
from forecast.registry import make
from forecast.training.task import ForecastTask
from serve_app.config.read import app_config


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Modules that are put here are not installed."""
    missing: set[str] = set()

    def find(name: str) -> ModuleSpec | None:
        return None if name in missing else importlib.util.find_spec(name)

    monkeypatch.setattr(extras, "find_spec", find)
    return missing


def test_everything_is_there_here() -> None:
    for extra in extras.MODULES:
        extras.require(extra, "this")


@pytest.mark.parametrize(
    ("extra", "missing", "words"),
    [
        (
            "planning",
            {"ortools"},
            r"this needs ortools, which is not installed; run `pip install -c constraints.txt -e '.\[planning\]'`",
        ),
        ("transformers", {"torch", "transformers"}, "this needs torch, transformers, which are not installed"),
    ],
)
def test_what_is_missing_is_named_with_the_extra(
    lacking: set[str], extra: extras.Extra, missing: set[str], words: str
) -> None:
    lacking |= missing
    with pytest.raises(ConfigError, match=words):
        extras.require(extra, "this")


def test_a_config_that_needs_an_extra_is_refused_before_anything_starts(lacking: set[str]) -> None:
    endpoint = {"task": "digits", "slo_ms": 100, "selection": {"policy": "greedy"}}
    args = {"endpoints": {"digits": endpoint}, "pools": {"cpu": {}}, "controller": {"planner": "proteus"}}
    app_config(args)
    lacking.add("ortools")
    with pytest.raises(ConfigError, match=r"controller.planner 'proteus' needs ortools.*-e '.\[planning\]"):
        app_config(args)


def test_networks_need_their_extra_and_averages_none(lacking: set[str]) -> None:
    lacking |= {"torch", "gluonts", "lightning", "pandas", "pyarrow"}
    task = ForecastTask()
    make("ewma", task)
    with pytest.raises(ConfigError, match=r"forecaster 'deepar' needs torch.*-e '.\[forecast\]"):
        make("deepar", task)
