"""Who may import whom: the floors of docs/architecture.md, read off the source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = (
    "catalog",
    "dispatch",
    "workload",
    "forecast",
    "predictor",
    "autoscaler",
    "simulator",
    "deployments",
    "serve_app",
    "chaos",
    "benchmarks",
)
SIBLINGS = {"simulator": {"deployments"}, "deployments": {"simulator"}}
PURE = {"dispatch", "autoscaler"}
WITH_RAY = {"deployments", "serve_app", "chaos", "benchmarks"}
FILES = [file for floor in FLOORS for file in sorted((ROOT / floor).rglob("*.py"))]
MAX_LINES = 300
MADE = ("_pb2.py", "_pb2_grpc.py")
"""Ends of the names of modules that a compiler writes."""


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_module_imports_only_from_its_own_room_and_those_below(file: Path) -> None:
    floor = file.relative_to(ROOT).parts[0]
    above = set(FLOORS[FLOORS.index(floor) + 1 :]) | SIBLINGS.get(floor, set()) | {"tests"}
    if floor not in WITH_RAY or "runtimes" in file.parts:
        above.add("ray")
    assert set(imported(file)) & above == set()


@pytest.mark.parametrize(
    "file", [f for f in FILES if not f.name.endswith(MADE)], ids=lambda file: str(file.relative_to(ROOT))
)
def test_a_module_is_no_longer_than_it_may_be(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.relative_to(ROOT).parts[0] in PURE], ids=lambda file: str(file.relative_to(ROOT))
)
def test_the_cores_of_both_paths_have_no_clock_no_randomness_and_no_io(file: Path) -> None:
    assert set(imported(file)) & {"time", "random", "asyncio", "threading", "socket", "os", "logging"} == set()
    of_datetime = {
        alias.name
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "datetime"
        for alias in node.names
    }
    assert of_datetime <= {"timedelta"}
    assert "datetime" not in imported(file) or of_datetime
    calls = {
        n.func.id
        for n in ast.walk(ast.parse(file.read_text()))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert calls & {"open", "print", "input"} == set()
