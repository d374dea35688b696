"""``accord chaos`` is ``python -m chaos``."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from typer.main import get_command

from chaos.__main__ import app
from chaos.experiment import experiments

ROOT = Path(__file__).parents[2]
JOURNAL = Path(__file__).parent / "journals" / "kill-worker.json"


def accord_chaos(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "serve_app.cli.main", "chaos", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90)


def test_all_experiments_are_listed() -> None:
    listed = orjson.loads(accord_chaos("list", "--json").stdout)
    assert list(listed) == list(experiments())
    assert listed["kill-worker"] == {"title": experiments()["kill-worker"].title, "service": "digits"}


def test_an_unknown_experiment_ends_with_those_that_there_are() -> None:
    done = accord_chaos("run", "kill-everything")
    assert done.returncode == 2
    assert "experiment 'kill-everything' is unknown" in done.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("load_s=x", "--var 'load_s=x' is no NAME=NUMBER"),
        ("load_s", "--var 'load_s' is no NAME=NUMBER"),
        ("=3", "--var '=3' is no NAME=NUMBER"),
        ("load_s=nan", "--var 'load_s=nan' are no seconds"),
        ("load_s=inf", "--var 'load_s=inf' are no seconds"),
        ("load_s=-5", "--var 'load_s=-5' are no seconds"),
        ("load_s=0", "--var 'load_s=0' are no seconds"),
        ("service=3", "experiment 'kill-worker' has no variable 'service'; it has load_s"),
    ],
)
def test_variables_that_are_none_are_refused_before_a_service_starts(
    given: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    command = ["run", "kill-worker", "--var", given, "--results", str(tmp_path), "--json"]
    done = CliRunner().invoke(get_command(app), command)
    assert done.exit_code == 2
    assert words in orjson.loads(done.stdout)["error"]
    assert not list(tmp_path.iterdir())


def test_a_cluster_that_the_environment_names_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:6379")
    done = CliRunner().invoke(get_command(app), ["run", "kill-worker", "--results", str(tmp_path), "--json"])
    assert done.exit_code == 2
    assert "RAY_ADDRESS is '127.0.0.1:6379'" in orjson.loads(done.stdout)["error"]
    assert not list(tmp_path.iterdir())


def test_reports_are_written_from_journals(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "kill-worker"
    folder.mkdir(parents=True)
    shutil.copy(JOURNAL, folder / "journal.json")
    told = orjson.loads(accord_chaos("report", str(tmp_path / "results"), "--json").stdout)
    assert told["kill-worker"]["answered"] == told["kill-worker"]["sent"]
    assert (folder / "report.md").exists()


def test_reports_of_experiments_of_the_same_name_are_all_told(tmp_path: Path) -> None:
    folders = [tmp_path / day / "kill-worker" for day in ("monday", "tuesday")]
    for folder in folders:
        folder.mkdir(parents=True)
        shutil.copy(JOURNAL, folder / "journal.json")
    told = orjson.loads(accord_chaos("report", str(tmp_path), "--json").stdout)
    assert sorted(told) == sorted(map(str, folders))


def test_a_journal_that_is_none_is_said_and_the_others_are_reported(tmp_path: Path) -> None:
    for name, content in (("bad", b'{"experiment": {"title": "mine"}}'), ("kill-worker", JOURNAL.read_bytes())):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.json").write_bytes(content)
    done = accord_chaos("report", str(tmp_path), "--json")
    assert done.returncode == 2
    assert list(orjson.loads(done.stdout)) == ["kill-worker"]
    assert f"{tmp_path / 'bad' / 'journal.json'} is no journal" in done.stderr
    assert "'status' is missing" in done.stderr
    assert (tmp_path / "kill-worker" / "report.md").exists()
    alone = accord_chaos("report", str(tmp_path / "bad"))
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "Traceback" not in alone.stderr


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    done = accord_chaos("report", str(tmp_path / "none"))
    assert done.returncode == 2
    assert f"there is no journal.json in {tmp_path / 'none'} or below" in done.stderr


def test_a_folder_may_be_called_anything(tmp_path: Path) -> None:
    folders = [tmp_path / "[" / "b]", tmp_path / "b" / "b]", tmp_path / "[red]"]  # of the same name: paths are told
    for folder in folders:
        folder.mkdir(parents=True)
        shutil.copy(JOURNAL, folder / "journal.json")
    done = accord_chaos("report", *map(str, folders))
    assert done.returncode == 0, done.stderr
    assert "[red]" in done.stdout


def test_an_interrupt_leaves_an_experiment_the_time_that_it_needs(tmp_path: Path) -> None:
    (tmp_path / "rolls_back.py").write_text(
        "import pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where the tests run in the background
        "try:\n    print('up', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    time.sleep(1.5)\n    pathlib.Path(sys.argv[1]).write_text('done')\n"
    )
    code = "from serve_app.cli import chaos, main; chaos.PROGRAM = 'rolls_back'; main.app()"
    done = tmp_path / "done"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, "-c", code, "chaos", str(done)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert done.read_text() == "done"
