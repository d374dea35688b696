"""Evaluations beside another one, after one that was cut off, and on a full disk."""

import errno
import json
from pathlib import Path

import pytest
from evaluate_scene import NAMES, ROWS, evaluate

from catalog.catalogue import load_catalogue
from catalog.votes import read_votes
from deployments.state import durable_file
from deployments.worker import evaluation
from serve_app.cli.evaluate.alone import alone_in


def test_two_evaluations_at_once_do_not_take_each_others_answers(digits: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "evaluation"
    out.mkdir()
    arguments = (str(digits), "--data", str(data), "--out", str(out))
    with alone_in(out):
        done = evaluate(*arguments)
    assert done.exit_code == 2
    assert "another evaluation is under way" in done.stderr
    assert "--out" in done.stderr
    assert evaluate(*arguments).exit_code == 0


def test_files_that_a_full_disk_cut_off_are_written_anew(digits: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "evaluation"
    arguments = (str(digits), "--data", str(data), "--out", str(out), "--split", "dev", "--json")
    first = evaluate(*arguments)
    (out / "answers" / NAMES[0] / "latency.json").write_text("")
    votes = Path(load_catalogue(digits).votes["digits"])
    for cut in (votes, out / "votes.csv"):
        cut.write_text("split,label," + ",".join(NAMES) + "\ndev,1")
    again = evaluate(*arguments)
    assert again.exit_code == 0, again.output
    assert "is replaced" in again.stderr
    assert read_votes(votes)["dev"].rows == ROWS
    figures, before = (json.loads(each.stdout)["variants"] for each in (again, first))
    assert {name: each["accuracy"] for name, each in figures.items()} == {
        name: each["accuracy"] for name, each in before.items()
    }


def test_what_the_system_refuses_is_told_without_a_traceback(
    digits: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path, content: bytes) -> None:
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr(evaluation, "write_durably", broken)
    done = evaluate(str(digits), "--data", str(data), "--out", str(tmp_path / "evaluation"), "--json")
    assert done.exit_code == 1
    assert "error: [Errno 5] Input/output error" in done.stderr
    assert "Input/output error" in json.loads(done.stdout)["error"]


def test_of_a_full_disk_the_file_is_named_and_what_puts_it_elsewhere(
    digits: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable_file.os, "fsync", full)
    out = tmp_path / "evaluation"
    done = evaluate(str(digits), "--data", str(data), "--out", str(out), "--json")
    assert done.exit_code == 1
    words = json.loads(done.stdout)["error"]
    assert words.startswith(f"No space left on device: {out / 'answers' / NAMES[0] / 'key.json'}; make room there, or")
    assert "another folder with --out, or set ACCORD_CACHE_DIR" in words


@pytest.mark.parametrize("half", [True, False], ids=["half", "nothing"])
def test_answers_that_were_cut_off_are_given_again(digits: Path, data: Path, tmp_path: Path, half: bool) -> None:
    out = tmp_path / "evaluation"
    arguments = (str(digits), "--data", str(data), "--out", str(out), "--variant", NAMES[0], "--json")
    first = json.loads(evaluate(*arguments).stdout)["variants"][NAMES[0]]
    chunk = out / "answers" / NAMES[0] / "000000512.npz"
    content = chunk.read_bytes()
    chunk.write_bytes(content[: len(content) // 2] if half else b"")
    done = evaluate(*arguments)
    assert done.exit_code == 0, done.output
    again = json.loads(done.stdout)["variants"][NAMES[0]]
    assert (again["accuracy"], again["kept_rows"]) == (first["accuracy"], 512)
    assert chunk.read_bytes() == content
