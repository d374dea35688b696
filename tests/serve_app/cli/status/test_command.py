import json
import re
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from serve_app.cli.main import app
from serve_app.cli.status.tables import render_status


def accord(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["status", *arguments])


def test_a_person_sees_endpoints_variants_and_workers(server: Any) -> None:
    result = accord("--url", server.url)
    assert result.exit_code == 0
    for shown in (
        "Accord 0.1.0",
        "greedy",
        "100 ms",
        "4.2",
        "91.0%",
        "idle",
        "arrived",
        "violations",
        "digits-cnn-l: out",
        "60 s",
        "37.5",
        "NO",
        "<= 1.25%",
        "8.30%",
        "16.70%",
        ">= 87.60%",
        "91.20%",
        "10 s",
        "digits may spend 64% of its slack: 3 of 12 queries (25.0%) were late",
        "1.52",
        "21.4",
        "slow",
    ):
        assert shown in result.stdout


def shown(body: dict[str, Any], width: int = 80) -> str:
    out = StringIO()
    Console(file=out, width=width).print(render_status(body))
    return out.getvalue()


def row(text: str, *cells: str) -> list[str]:
    """The cells of the row that begins with these."""
    rows = ([cell.strip() for cell in line.strip("│ \n").split("│")] for line in text.splitlines())
    return next(found for found in rows if found[: len(cells)] == [*cells])


def test_workers_of_several_nodes_are_shown_with_theirs() -> None:
    nodes = {"one": "a7" * 28, "other": "b8" * 28}
    latency = {"run_factor": 1.5, "path_ms": 2.0, "path_tail_ms": 5.0, "slow": False}
    workers = {name: {"pool": "cpu", "node": node, "latency": latency} for name, node in nodes.items()}
    text = shown({"endpoints": {}, "workers": workers})
    assert row(text, "one", "a7a7a7a7a7a7")[:3] == ["one", "a7a7a7a7a7a7", "1.50"]
    assert row(text, "other", "b8b8b8b8b8b8")[:3] == ["other", "b8b8b8b8b8b8", "1.50"]
    assert max(map(len, text.splitlines())) <= 80
    workers["other"]["node"] = nodes["one"]
    assert row(shown({"endpoints": {}, "workers": workers}), "one", "1.50")


def test_what_is_emulated_is_marked() -> None:
    body = {
        "endpoints": {"digits": {"variants": {"slow": {"emulated": True}, "fast": {"emulated": False}}}},
        "workers": {"w1": {"loaded": ["slow", "fast"], "emulated": ["slow"]}},
    }
    text = shown(body)
    assert text.count("slow *") == text.count("emulated: no model runs") == 2
    assert "fast *" not in text


@pytest.mark.parametrize(
    ("selection", "tables", "decides", "made"),
    [
        ("greedy", {"state": "none", "made": 0, "wanted": 0}, "greedy", "-"),
        ("ramsis", {"state": "none", "made": 0, "wanted": 96}, "greedy until tables are made", "0 of 96"),
        ("ramsis", {"state": "approximate", "made": 3, "wanted": 96}, "tables, approximate", "3 of 96"),
        ("ramsis", {"state": "exact", "made": 96, "wanted": 96}, "tables, exact", "96 of 96"),
        (
            "ramsis",
            {"state": "approximate", "made": 3, "wanted": 96, "query_rows": 8},
            "tables, approximate",
            "3 of 96, 8 rows a query",
        ),
        ("ramsis", None, "ramsis", "-"),
    ],
)
def test_it_says_what_decides_now(selection: str, tables: dict[str, Any] | None, decides: str, made: str) -> None:
    text = shown({"endpoints": {"digits": {"selection": selection, "tables": tables}}})
    assert row(text, "digits", selection) == ["digits", selection, decides, made, "-"]


@pytest.mark.parametrize("kept", ["yes", "too early"])
def test_a_promise_that_is_not_broken_is_not_shouted(kept: str) -> None:
    seen = {
        "kept": kept,
        "promised_violation_rate": 0.01,
        "observed_violation_rate": 0.0021,
        "predicted_violation_rate": 0.0123,
    }
    text = shown({"endpoints": {"digits": {"guarantee": seen}}})
    assert row(text, "digits", kept) == ["digits", kept, "violations", "<= 1.00%", "0.21%", "-", "<= 1.23%"]
    assert "NO" not in text


def test_slack_is_explained_only_where_some_of_it_is_withheld() -> None:
    text = shown({"endpoints": {"digits": {"feedback": {"slack_factor": 1.0, "reason": None}}}})
    assert "100%" in text
    assert "may spend" not in text


TRUTH = {
    "labelled": 40,
    "right": 37,
    "members": {
        "digits-cnn-s": {"labelled": 40, "right": 33, "answered": 1000, "agreed": 905},
        "digits-mlp": {"labelled": 0, "right": 0, "answered": 0, "agreed": 0},
    },
}


def test_labels_are_set_beside_agreement_which_needs_none() -> None:
    text = shown({"endpoints": {"digits": {"selection": "ensemble", "ground_truth": TRUTH}}})
    assert row(text, "digits", "answers") == ["digits", "answers", "40", "92.5%", "-"]
    assert row(text, "digits", "digits-cnn-s") == ["digits", "digits-cnn-s", "40", "82.5%", "90.5%"]
    assert row(text, "digits", "digits-mlp") == ["digits", "digits-mlp", "0", "-", "-"]
    assert "agreement *" in text
    assert "a proxy for accuracy" in " ".join(text.split())


def test_where_one_variant_answers_it_agrees_with_itself_and_nothing_is_said_of_that() -> None:
    text = shown({"endpoints": {"digits": {"selection": "greedy", "ground_truth": TRUTH}}})
    assert row(text, "digits", "digits-cnn-s") == ["digits", "digits-cnn-s", "40", "82.5%", "-"]


@pytest.mark.parametrize("truth", [None, {}, TRUTH | {"labelled": 0}])
def test_without_labels_there_is_no_table_of_ground_truth(truth: dict[str, Any] | None) -> None:
    other = {"digits": {"selection": "ensemble", "ground_truth": truth}, "old": {}}
    assert "Ground truth" not in shown({"endpoints": other})
    text = shown({"endpoints": {**other, "told": {"ground_truth": TRUTH}}})
    table = text.partition("Ground truth")[2].partition("Workers")[0]
    assert [line.split()[1] for line in table.splitlines() if line.startswith("│")] == ["told"] * 3


def test_a_server_of_many_endpoints_and_workers_fits_80_columns(status_body: dict[str, Any]) -> None:
    names = ("digits", "letters-of-the-alphabet", "x")
    large = {"arrived": 123_456_789, "answered": 123_456_789, "selection": "model_switching", "anticipated_qps": 6000.0}
    large |= {"ground_truth": TRUTH}
    worker = status_body["workers"]["w1"] | {"pool": "large-cpu"}
    body = {
        "endpoints": dict.fromkeys(names, status_body["endpoints"]["digits"] | large),
        "workers": dict.fromkeys(("kq0d1xz7", "0a2sf9h1"), worker),
    }
    lines = shown(body).splitlines()
    assert max(map(len, lines)) <= 80
    assert row(shown(body), "0a2sf9h1", "1.52")[-1] == "slow"
    joined = re.sub(r"[\s│]", "", shown(body))
    assert "123456789" in joined
    assert "model_switching" in joined


def test_json_is_the_answer_of_the_server(server: Any) -> None:
    result = accord("--url", server.url, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["workers"]["w1"]["pool"] == "cpu"


def test_a_server_that_is_not_running_exits_with_one(closed_url: str) -> None:
    result = accord("--url", closed_url, "--json")
    assert result.exit_code == 1
    assert "nothing listens" in json.loads(result.stdout)["error"]


def test_watching_cannot_print_a_single_object(closed_url: str) -> None:
    result = accord("--url", closed_url, "--json", "--watch", "1")
    assert result.exit_code == 2
    assert "--watch with --json" in json.loads(result.stdout)["error"]


def test_watching_goes_on_when_the_server_goes_and_keeps_what_it_said_last(server: Any, monkeypatch: Any) -> None:
    rests = iter([server.stop, lambda: None])

    def rest(_: float) -> None:
        try:
            next(rests)()
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr("serve_app.cli.status.command.time.sleep", rest)
    result = accord("--url", server.url, "--watch", "1")
    assert result.exit_code == 0
    assert re.search(r"As of \d\d:\d\d:\d\d\. At \d\d:\d\d:\d\d: .*nothing\s+listens", result.stdout)
    assert result.stdout.count("greedy") >= 2
    assert next(rests, None) is None


def test_watching_does_not_begin_where_nothing_answers(closed_url: str) -> None:
    result = accord("--url", closed_url, "--watch", "1")
    assert result.exit_code == 1
    assert "nothing listens" in result.stderr
