"""A minute of the soak."""

from pathlib import Path

import pytest

from benchmarks.soak.__main__ import judged, soak
from benchmarks.soak.faults import RandomFaults

SECONDS = 60.0


@pytest.mark.parametrize("what", ["grew", "leaked_files"])
@pytest.mark.parametrize("only_watches", [True, False])
def test_what_only_watches_the_cluster_is_told_of_and_fails_no_goal(what: str, only_watches: bool) -> None:
    fine = {"process": "router", "grew": False, "leaked_files": False, "only_watches": False}
    grown = {"process": "name", "grew": False, "leaked_files": False, "only_watches": only_watches, what: True}
    faults = RandomFaults(0)
    faults.done["worker hangs"] += 1
    body = judged({"unanswered": 0, "duplicated": 0}, faults, [fine, grown])
    assert body["goals_met"] is only_watches
    assert body["observers_that_grew"] == (["name"] if only_watches else [])


def test_goals_of_which_nothing_was_measured_are_missed() -> None:
    body = judged({"unanswered": 0, "duplicated": 0}, RandomFaults(0), [])
    assert [name for name, met in body["goals"].items() if met] == ["no_stuck_query"]


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_a_minute_with_faults_leaves_no_query_without_an_answer(tmp_path: Path) -> None:
    body = soak(SECONDS, seed=7, results=tmp_path)
    assert body["goals"]["no_stuck_query"], body["errors"]
    assert body["goals"]["whole_after_every_fault"], body["not_restored"]
    assert body["goals"]["no_descriptor_leak"], body["processes"]
    assert body["faults"]["controller killed"] >= 1  # the first that is drawn
    assert body["processes"]
    assert body["ready_afterwards"]
    assert (tmp_path / "picture.png").stat().st_size > 0
