"""Actions and probes have the form that Chaos Toolkit discovers."""

from importlib import import_module

import pytest
from chaoslib.discovery.discover import discover_actions, discover_probes

ACTIONS = ("clock", "files", "load", "nodes", "processes")
PROBES = ("load", "service")


@pytest.mark.parametrize("module", [f"chaos.actions.{name}" for name in ACTIONS])
def test_actions_are_discovered_with_words_and_types(module: str) -> None:
    check(module, discover_actions(module))


@pytest.mark.parametrize("module", [f"chaos.probes.{name}" for name in PROBES])
def test_probes_are_discovered_with_words_and_types(module: str) -> None:
    check(module, discover_probes(module))


def check(module: str, found: list[dict[str, object]]) -> None:
    assert sorted(str(each["name"]) for each in found) == sorted(import_module(module).__all__)
    for each in found:
        assert each["doc"]
        assert "return_type" in each
        arguments = each["arguments"]
        assert isinstance(arguments, list)
        assert all("type" in argument for argument in arguments)
