"""The benchmark of the vote: its figures, and that every way to count says the same."""

import sys
from collections.abc import Callable

import orjson
import pytest
import yaml

from benchmarks.voting import __main__ as voting

TIMES = ["served_ms", "row_ms", "batch_ms", "loop_ms", "majority_ms", "select_ms"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    monkeypatch.setattr(voting, "LEARNED_ROWS", 500)

    def with_arguments(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["voting", *arguments])
        voting.main()
        return capsys.readouterr().out

    return with_arguments


def test_the_last_line_has_the_times_of_one_vote(run: Callable[..., str]) -> None:
    body = orjson.loads(run("--json", "--classes", "20", "--members", "5", "--rounds", "2").splitlines()[-1])
    assert (body["classes"], body["members"], body["rounds"], body["batch_rows"]) == (20, 5, 2, 256)
    assert list(body["times_ms"]) == TIMES
    assert all(taken_ms > 0.0 for taken_ms in body["times_ms"].values())
    assert set(body["multiples"]) == {f"times_ms.{name}" for name in TIMES}
    assert body["goals_met"] is (body["times_ms"]["served_ms"] <= body["goal_ms"])
    assert body["paper_ms"] == {"vote": 0.5, "select": 0.7}
    assert body["served_over_loop"] == pytest.approx(body["times_ms"]["served_ms"] / body["times_ms"]["loop_ms"])
    assert body["right"]["weighted"] > body["right"]["majority"] > 0.5


def test_without_json_the_same_is_there_to_read(run: Callable[..., str]) -> None:
    body = yaml.safe_load(run("--classes", "3", "--members", "1", "--rounds", "1"))
    assert list(body["times_ms"]) == TIMES


def test_what_is_no_vote_is_refused(run: Callable[..., str]) -> None:
    with pytest.raises(SystemExit, match="2 classes, 1 member and 1 round at least"):
        run("--classes", "1")
