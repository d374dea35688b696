"""What an experiment tells is of the run that it was, whatever its folder of results holds."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from catalog.errors import ConfigError
from chaos.experiment import Experiment
from chaos.report.journal import Journal
from chaos.trial import trial
from chaos_scene import PLAYED, bench_of

OLD = Path(__file__).parent / "journals" / "kill-worker.json"
PROBES = "def by_number() -> dict[int, int]:\n    return {1: 2}\n"


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Experiment]:
    """An experiment that asks one probe, whose output has keys that JSON has not, on a service without processes."""
    (tmp_path / "own_probes.py").write_text(PROBES)
    monkeypatch.syspath_prepend(tmp_path)
    probe = {"type": "probe", "provider": {"type": "python", "module": "own_probes", "func": "by_number"}}
    control = {"type": "python", "module": "chaos.controls.service"}
    document = {
        "title": "Nothing happens",
        "description": "One probe is asked.",
        "configuration": {"service": PLAYED.service, "results": "unset"},
        "controls": [{"name": "service", "provider": control}],
        "method": [{"name": "asked", **probe}],
        "rollbacks": [],
    }
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(document))
    trial.share(PLAYED, bench_of([], tmp_path))
    yield Experiment("small", path, document["title"], PLAYED.service, ())
    trial.end()
    trial.share(PLAYED, None)


def with_old_journal(folder: Path) -> Path:
    folder.mkdir()
    shutil.copy(OLD, folder / "journal.json")
    return folder


def test_the_verdict_is_of_this_run_and_not_of_the_one_before(small: Experiment, tmp_path: Path) -> None:
    results = with_old_journal(tmp_path / "results")
    found = small.run(results)
    assert (found.title, found.verdict) == ("Nothing happens", "held")
    assert Journal.read(results).content == found.content
    assert sorted(file.name for file in results.iterdir()) == ["journal.json", "report.md"]


def test_results_that_cannot_be_written_are_told_before_anything_is_done(small: Experiment, tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(ConfigError, match=r"cannot write results to .*results: File exists; give another folder"):
        small.run(tmp_path / "results")


def test_results_that_can_no_longer_be_written_are_told(small: Experiment, tmp_path: Path) -> None:
    results = with_old_journal(tmp_path / "results")
    (results / "journal.json.partial").mkdir()
    with pytest.raises(IsADirectoryError):
        small.run(results)
    assert not (results / "journal.json").exists()
