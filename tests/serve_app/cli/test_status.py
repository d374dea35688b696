import json
from io import StringIO
from typing import Any

from rich.console import Console
from typer.testing import CliRunner

from serve_app.cli.main import app
from serve_app.cli.status import render_status


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
        "87.60%",
        "1.25%",
        "8.30%",
        "NO",
    ):
        assert shown in result.stdout


def test_what_is_emulated_is_marked() -> None:
    body = {
        "endpoints": {"digits": {"variants": {"slow": {"emulated": True}, "fast": {"emulated": False}}}},
        "workers": {"w1": {"loaded": ["slow", "fast"], "emulated": ["slow"]}},
    }
    out = StringIO()
    Console(file=out, width=120).print(render_status(body))
    assert out.getvalue().count("slow *") == out.getvalue().count("emulated: no model runs") == 2
    assert "fast *" not in out.getvalue()


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


def test_watching_ends_with_a_message_when_the_server_goes(server: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("serve_app.cli.status.time.sleep", lambda _: server.stop())
    result = accord("--url", server.url, "--watch", "1")
    assert result.exit_code == 1
    assert "greedy" in result.stdout
    assert "nothing listens" in result.stderr
