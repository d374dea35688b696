"""Reports on journals that real runs left: a worker, the only router, and an HAProxy of plain Ray Serve were killed."""

from pathlib import Path

import orjson
import pytest

from catalog.errors import ConfigError
from chaos.report.folder import write_report, write_results
from chaos.report.goals import EXPLAINED, goals
from chaos.report.journal import Journal
from chaos.report.summary import HEADER, rows, summary

JOURNALS = Path(__file__).parents[1] / "journals"
PNG = b"\x89PNG"


def journal(name: str) -> Journal:
    return Journal.read(JOURNALS / f"{name}.json")


def test_a_worker_that_was_killed_cost_no_query() -> None:
    figures = journal("kill-worker").figures
    assert figures is not None
    assert figures["sent"] == figures["answered"] > 1000
    assert journal("kill-worker").verdict == "deviated"  # the machine was busy: the next worker came after 11 s
    missed = [goal for goal, met in goals(journal("kill-worker")).items() if not met]
    assert missed == ["seconds until all is there again"]


def test_goals_go_on_where_chaos_toolkit_stops() -> None:
    held = goals(journal("kill-proxy"))
    assert [goal for goal, met in held.items() if not met] == [
        "404 for a path that exists",
        "seconds until clients see nothing of it",
    ]
    reached = [name for name, _, _, after in journal("kill-proxy").hypothesis() if after is not None]
    assert "seconds until clients see nothing of it" not in reached


def test_a_probe_that_failed_after_the_fault_is_a_goal_missed() -> None:
    found = held_with(deviated=True)
    after = found.content["steady_states"]["after"]
    after["probes"] = [after["probes"][0], after["probes"][1] | {"status": "failed", "output": None}]
    after["probes"][1]["tolerance_met"] = False
    assert [goal for goal, met in goals(found).items() if not met] == ["share of queries answered"]


def test_a_deviation_that_no_goal_shows_is_a_goal_missed() -> None:
    assert all(goals(held_with()).values())
    assert [goal for goal, met in goals(held_with(deviated=True)).items() if not met] == [EXPLAINED]


def test_figures_add_up(tmp_path: Path) -> None:
    for name in ("kill-worker", "kill-router", "kill-proxy"):
        figures = journal(name).figures
        assert figures is not None
        assert figures["sent"] == figures["answered"] + figures["failed"] + figures["unanswered"]
        assert sum(figures["series"]["sent"]) == figures["sent"]
        assert sum(figures["errors"].values()) == figures["failed"] + figures["unanswered"]


def test_a_folder_of_results_has_journal_report_and_picture(tmp_path: Path) -> None:
    folder = write_results(journal("kill-router").content, tmp_path / "kill-router")
    assert sorted(file.name for file in folder.iterdir()) == ["journal.json", "picture.png", "report.md"]
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# The only router is killed\n")
    assert "**deviated**" in text
    assert "| unanswered | 40 |" in text
    assert "| error `connection_lost` | 5 |" in text
    assert (folder / "picture.png").read_bytes().startswith(PNG)
    assert Journal.read(folder).figures == journal("kill-router").figures


def test_a_report_can_be_written_anew_from_the_journal(tmp_path: Path) -> None:
    write_results(journal("kill-worker").content, tmp_path)
    before = (tmp_path / "report.md").read_text(encoding="utf-8")
    (tmp_path / "report.md").unlink()
    write_report(tmp_path)
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], "list indices"),
        ({}, "'experiment' is missing"),
        ({"experiment": {"title": "mine"}}, "'status' is missing"),
        ({"experiment": {"title": "mine", "configuration": []}, "status": "completed"}, "no attribute 'items'"),
        ({"experiment": {"title": "mine"}, "status": "completed", "run": [3]}, "'int' object"),
        ({"experiment": {"title": "mine"}, "status": "completed", "run": [{}]}, "'activity' is missing"),
    ],
    ids=str,
)
def test_json_that_is_no_journal_is_refused_with_what_is_wrong(content: object, words: str, tmp_path: Path) -> None:
    (tmp_path / "journal.json").write_bytes(orjson.dumps(content))
    with pytest.raises(ConfigError, match=f"is no journal of Chaos Toolkit that can be reported: .*{words}"):
        write_report(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"series": None}, "'NoneType' object"),
        ({"series": {}}, "'window_s' is missing"),
        ({"series": {"window_s": 1.0}}, "'sent' is missing"),
        ({"series": {"window_s": 0.0}}, "window_s is 0.0"),
        ({"marks": [{"at_s": 1.0}]}, "'text' is missing"),
        ({"errors": 3}, "no attribute 'items'"),
        ({"slo_ms": None}, "must be a string or a real number"),
    ],
    ids=str,
)
def test_figures_that_are_not_ours_are_refused_with_what_is_wrong(
    change: dict[str, object], words: str, tmp_path: Path
) -> None:
    content = orjson.loads((JOURNALS / "kill-worker.json").read_bytes())
    (outcome,) = [run for run in content["run"] if run["activity"].get("provider", {}).get("func") == "outcome"]
    outcome["output"] |= change
    (tmp_path / "journal.json").write_bytes(orjson.dumps(content))
    with pytest.raises(ConfigError, match=f"is no journal of Chaos Toolkit that can be reported: .*{words}"):
        write_report(tmp_path)


def test_one_table_has_all() -> None:
    told = {name: journal(name) for name in ("kill-worker", "kill-proxy")}
    header, first, second = rows(told)
    assert header == HEADER
    assert first[:3] == ("kill-worker", "deviated", str(told["kill-worker"].figures["sent"]))  # type: ignore[index]
    assert second[0] == "kill-proxy"
    assert "series" not in orjson.dumps(summary(told)).decode()


def test_a_skipped_experiment_says_why(tmp_path: Path) -> None:
    content = orjson.loads((JOURNALS / "kill-worker.json").read_bytes())
    content["experiment"]["configuration"]["skipped"] = "no namespaces"
    (tmp_path / "journal.json").write_bytes(orjson.dumps(content))
    assert Journal.read(tmp_path).verdict == "skipped"
    assert summary({"x": Journal.read(tmp_path)})["x"]["skipped"] == "no namespaces"


def held_with(**changes: object) -> Journal:
    """The journal of a worker that was killed, had all of its hypothesis held afterwards, with some changes."""
    content = orjson.loads((JOURNALS / "kill-worker.json").read_bytes())
    content["deviated"] = False
    content["steady_states"]["after"] |= {"steady_state_met": True}
    outcome = next(run for run in content["run"] if run["activity"]["provider"]["func"] == "outcome")
    outcome["output"] |= {"restored_s": 2.0}
    return Journal(content | changes)


def rollback(status: str) -> dict[str, object]:
    return {
        "activity": {"name": "the worker goes on"},
        "status": status,
        "exception": ["Traceback", "RuntimeError: no"],
    }


def test_an_experiment_whose_rollback_failed_did_not_hold() -> None:
    assert held_with(rollbacks=[rollback("succeeded")]).verdict == "held"
    failed = held_with(rollbacks=[rollback("succeeded"), rollback("failed")])
    assert failed.verdict == "failed"
    assert list(failed.problems()) == ["the worker goes on: RuntimeError: no"]


def test_an_experiment_that_was_interrupted_is_called_so_whatever_its_rollbacks_found() -> None:
    assert held_with(status="interrupted", rollbacks=[rollback("failed")]).verdict == "interrupted"


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"experiment": 3}'])
def test_what_is_no_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "journal.json").write_bytes(content)
    with pytest.raises(ConfigError, match="is no journal of Chaos Toolkit"):
        Journal.read(tmp_path)


def test_a_folder_without_a_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read journal .*give the folder of an experiment's results"):
        Journal.read(tmp_path)
