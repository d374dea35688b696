"""``accord chaos`` is ``python -m chaos``."""

import shutil
import subprocess
import sys
from pathlib import Path

import orjson

from chaos.experiment import experiments

ROOT = Path(__file__).parents[2]
JOURNAL = Path(__file__).parent / "journals" / "kill-worker.json"


def accord_chaos(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "serve_app.cli.main", "chaos", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90)


def test_all_experiments_are_listed() -> None:
    listed = orjson.loads(accord_chaos("list", "--json").stdout)
    assert [each["name"] for each in listed] == list(experiments())


def test_an_unknown_experiment_ends_with_those_that_there_are() -> None:
    done = accord_chaos("run", "kill-everything")
    assert done.returncode == 2
    assert "experiment 'kill-everything' is unknown" in done.stderr


def test_reports_are_written_from_journals(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "kill-worker"
    folder.mkdir(parents=True)
    shutil.copy(JOURNAL, folder / "journal.json")
    told = orjson.loads(accord_chaos("report", str(tmp_path / "results"), "--json").stdout)
    assert told["kill-worker"]["answered"] == told["kill-worker"]["sent"]
    assert (folder / "report.md").exists()
