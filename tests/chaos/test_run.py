"""Experiments for real: by the command of Chaos Toolkit, on one service, and on a config file of one's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from chaostoolkit.commands import cli
from click.testing import CliRunner
from typer.main import get_command

from chaos.__main__ import app
from chaos.experiment import experiments, settled, shared_service
from chaos.report.journal import Journal
from chaos.trial.bench import Bench

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]
OPTIONS = ("--no-version-check", "--no-log-file")
SECONDS = 12
FEW_QPS = 100.0
"""At the load that is sent then, the proxy refuses nothing unless the machine stands still for seconds."""


@pytest.fixture(scope="module")
def service() -> Iterator[Bench]:
    with shared_service("digits") as bench:
        yield bench


def test_an_experiment_runs_and_every_query_gets_one_answer(service: Bench, tmp_path: Path) -> None:
    name = "kill-worker"
    assert settled(service)
    variables = [f"--var=load_s:int={SECONDS}", f"--var=results={tmp_path / name}"]
    journal = tmp_path / "journal.json"
    command = [*OPTIONS, "run", f"--journal-path={journal}", *variables, str(experiments()[name].path)]
    done = CliRunner().invoke(cli, command)
    figures = Journal.read(journal).figures
    assert figures is not None, done.output
    assert figures["sent"] > SECONDS * 5
    assert (figures["unanswered"], figures["duplicated"]) == (0, 0)
    assert (figures["errors"], figures["answered"]) == ({}, figures["sent"])
    assert figures["marks"][0]["fault"]
    assert Journal.read(tmp_path / name).figures == figures


def test_an_experiment_runs_on_a_service_of_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaos.services.configured.MOST_QPS", FEW_QPS)
    endpoints = {name: {"task": "digits", "slo_ms": 400, "selection": {"policy": "greedy"}} for name in ("a", "b")}
    args = {
        "catalogue": "builtin",
        "endpoints": endpoints,
        "pools": {"cpu": {"workers": 2, "device": "cpu", "threads": 1, "num_cpus": 0.2}},
        "router_num_cpus": 0.3,
        "clients": {"rate_qps": 1, "burst": 1},
    }
    application = {"name": "ours", "route_prefix": "/ml", "import_path": "serve_app.main:build", "args": args}
    config = tmp_path / "mine.yaml"
    config.write_text(yaml.safe_dump({"http_options": {"port": 8000}, "applications": [application]}))
    command = ["run", "kill-controller", "--config", str(config), "--endpoint", "b", "--results", str(tmp_path)]
    done = CliRunner().invoke(get_command(app), [*command, "--var", f"load_s={SECONDS}", "--json"])
    figures = Journal.read(tmp_path / "kill-controller" / "journal.json").figures
    assert figures is not None, done.output
    assert figures["slo_ms"] == 400
    assert figures["sent"] > SECONDS * 5
    assert (figures["errors"], figures["answered"]) == ({}, figures["sent"])
    assert figures["accuracy_loss_points"] is not None
    assert figures["marks"][0]["fault"]
