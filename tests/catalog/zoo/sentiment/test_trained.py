"""Trained files are whole or count as none, and what is wrong with them is told in words."""

from pathlib import Path

import numpy as np
import pytest

from catalog.errors import ArtifactError
from catalog.zoo.sentiment import build as building
from catalog.zoo.sentiment import train as training
from catalog.zoo.sentiment.trained import TrainedFiles


def test_tensors_of_which_a_part_was_written_count_as_not_trained(tmp_path: Path) -> None:
    files = TrainedFiles(tmp_path)
    files.write_tensors("a", {"weight": np.ones((30, 30), dtype=np.float32)}, "of these texts")
    assert files.fingerprint("a") == "of these texts"
    assert [each.name for each in tmp_path.iterdir()] == ["a.safetensors"]
    whole = (tmp_path / "a.safetensors").read_bytes()
    for left in (0, 5, 40, 500):
        (tmp_path / "a.safetensors").write_bytes(whole[:left])
        assert files.fingerprint("a") is None
        with pytest.raises(ArtifactError, match="train again, or restore the file"):
            files.tensors("a")


def test_tensors_that_cannot_be_written_leave_those_of_before(tmp_path: Path) -> None:
    files = TrainedFiles(tmp_path)
    files.write_tensors("a", {"weight": np.ones(3)}, "first")
    with pytest.raises(Exception, match="object"):
        files.write_tensors("a", {"weight": np.array([None])}, "second")
    assert files.fingerprint("a") == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["a.safetensors"]


@pytest.mark.parametrize(
    ("main", "arguments", "words"),
    [
        (training.main, ("--train", "/nowhere.tsv", "--dev", "/nowhere.tsv", "--out", "OUT"), "/nowhere.tsv"),
        (building.main, ("OUT", "--trained", "/nowhere"), "cannot read /nowhere/trained.json"),
        (building.main, ("--trained", "/nowhere"), "cannot read /nowhere/trained.json"),
    ],
)
def test_what_is_wrong_is_told_in_words_on_the_command_line(
    main: object,
    arguments: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert callable(main)
    given = [str(tmp_path / "out") if each == "OUT" else each for each in arguments]
    monkeypatch.setattr("sys.argv", ["module", *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "error: " in (told := capsys.readouterr().err)
    assert words in told
