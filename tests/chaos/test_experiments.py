"""The experiments are valid by Chaos Toolkit's own judgement, and are those that the documents name."""

import re
from pathlib import Path

import pytest
import yaml
from chaoslib.experiment import ensure_experiment_is_valid

from catalog.errors import ConfigError
from chaos.experiment import by_service, experiment, experiments
from chaos.services.start import SERVICES
from chaos.trial.parts import PARTS

ALL = experiments()
RELIABILITY = Path(__file__).parents[2] / "docs" / "reliability.md"


@pytest.mark.parametrize("name", ALL)
def test_an_experiment_is_valid_and_needs_a_service_that_there_is(name: str) -> None:
    document = yaml.safe_load(ALL[name].path.read_text(encoding="utf-8"))
    ensure_experiment_is_valid(document)
    assert ALL[name].service in SERVICES
    assert document["configuration"]["results"] == f"chaos-results/{name}"
    assert document["runtime"]["rollbacks"]["strategy"] == "always"


@pytest.mark.parametrize("name", ALL)
def test_an_experiment_has_a_load_a_fault_and_a_figure_for_each_promise(name: str) -> None:
    document = yaml.safe_load(ALL[name].path.read_text(encoding="utf-8"))
    functions = [activity["provider"]["func"] for activity in document["method"]]
    assert functions[0] == "begin_load"
    assert functions[-1] == "outcome"
    figures = [
        probe["provider"].get("arguments", {}).get("name") for probe in document["steady-state-hypothesis"]["probes"]
    ]
    assert {"unanswered", "duplicated"} <= set(figures)
    assert len(figures) >= 5
    parts = [activity["provider"].get("arguments", {}).get("part") for activity in document["method"]]
    assert {part for part in parts if part is not None} <= set(PARTS)


def test_every_experiment_stands_behind_a_line_of_the_page_about_reliability() -> None:
    page = RELIABILITY.read_text(encoding="utf-8")
    promises = page.split("## What is promised")[1].split("\n## ")[0]
    assert sorted(re.findall(r"\| `([a-z-]+)` \|$", promises, re.MULTILINE)) == sorted(ALL)
    assert sorted(re.findall(r"^\| `([a-z-]+)` \| [\d,]+ \|", page, re.MULTILINE)) == sorted(ALL), "its figures"


def test_an_unknown_experiment_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"experiment 'kill-all' is unknown; .*kill-worker"):
        experiment("kill-all")


def test_experiments_on_one_service_come_together() -> None:
    grouped = by_service(ALL.values())
    assert set(grouped) == set(SERVICES)
    assert sum(len(group) for group in grouped.values()) == len(ALL)
