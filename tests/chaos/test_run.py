"""Two experiments for real, by the command of Chaos Toolkit, on one service."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from chaostoolkit.commands import cli
from click.testing import CliRunner

from chaos.experiment import experiments, settled, shared_service
from chaos.report.journal import Journal
from chaos.trial.bench import Bench

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]
OPTIONS = ("--no-version-check", "--no-log-file")
SECONDS = 12


@pytest.fixture(scope="module")
def service() -> Iterator[Bench]:
    with shared_service("digits") as bench:
        yield bench


@pytest.mark.parametrize("name", ["kill-worker", "kill-controller"])
def test_an_experiment_runs_and_every_query_gets_one_answer(name: str, service: Bench, tmp_path: Path) -> None:
    assert settled(service)
    variables = [f"--var=load_s:int={SECONDS}", f"--var=results={tmp_path / name}"]
    journal = tmp_path / "journal.json"
    command = [*OPTIONS, "run", f"--journal-path={journal}", *variables, str(experiments()[name].path)]
    done = CliRunner().invoke(cli, command)
    figures = Journal.read(journal).figures
    assert figures is not None, done.output
    assert figures["sent"] > SECONDS * 5
    assert (figures["unanswered"], figures["duplicated"]) == (0, 0)
    assert figures["answered"] == figures["sent"]
    assert figures["marks"][0]["fault"]
    assert Journal.read(tmp_path / name).figures == figures
