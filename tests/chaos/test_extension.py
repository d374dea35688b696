"""Actions and probes have the form that Chaos Toolkit discovers, and the documented command shows them."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

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


def test_the_documented_command_shows_what_there_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    found = re.search(r"`python (-m pydoc (chaos\.\S+))`", page)
    assert found is not None
    shown = subprocess.run([sys.executable, *found[1].split()], capture_output=True, text=True, check=True).stdout
    assert all(f"    {name}(" in shown for name in import_module(found[2]).__all__)


def check(module: str, found: list[dict[str, object]]) -> None:
    assert sorted(str(each["name"]) for each in found) == sorted(import_module(module).__all__)
    for each in found:
        assert each["doc"]
        assert "return_type" in each
        arguments = each["arguments"]
        assert isinstance(arguments, list)
        assert all("type" in argument for argument in arguments)
