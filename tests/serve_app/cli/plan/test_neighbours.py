"""Predicted slowdowns of a plan, as people read them."""

import json
from typing import Any

from rich.console import Console
from typer.testing import CliRunner

from plan_scene import body
from serve_app.cli.main import app
from serve_app.cli.plan.neighbours import render_corrections, render_neighbours

NEIGHBOURS = [
    {
        "node": "29f7bb4e1c0d29f7bb4e1c0d",
        "machine": "AMD EPYC 26/2, 2 CPUs",
        "worker": worker,
        "variant": variant,
        "beside": beside,
        "predicted": 1.234,
        "reckoned": reckoned,
    }
    for worker, variant, beside, reckoned in (
        ("k3j2h1g0", "digits-cnn-s", [["digits-mlp", "plates-tiny"]], 1.4),
        ("x9y8z7w6", "digits-mlp", [["digits-cnn-s"]], 1.0),
        ("x9y8z7w6", "plates-tiny", [["digits-cnn-s"]], 1.1),
    )
]
CORRECTIONS = [
    {"machine": "m", "variant": "digits-mlp", "beside": [], "factor": 0.8, "batches": 900.4},
    {"machine": "m", "variant": "digits-mlp", "beside": ["a", "b"], "factor": 1.25, "batches": 30.0},
]


def shown(rendered: list[Any]) -> str:
    console = Console(width=80)
    with console.capture() as captured:
        for each in rendered:
            console.print(each)
    return captured.get()


def words(text: str) -> str:
    return " ".join(text.split())


def test_people_see_by_node_who_stands_beside_whom_and_how_slow_that_is_reckoned_to_be() -> None:
    text = shown(render_neighbours({"neighbours": NEIGHBOURS}))
    for part in (
        "Neighbours on node 29f7bb4e1c0d, AMD EPYC 26/2, 2 CPUs",
        "│ k3j2h1g0 │ digits-cnn-s │ digits-mlp or plates-tiny │ 1.23 │ 1.40 │",
        "│ x9y8z7w6 │ plates-tiny │ digits-cnn-s │ 1.23 │ 1.10 │",
    ):
        assert part in words(text)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80


def test_each_node_has_its_table_and_where_nobody_predicts_there_is_none() -> None:
    other = [{**NEIGHBOURS[0], "node": "other"}]
    assert len(render_neighbours({"neighbours": NEIGHBOURS + other})) == 2
    assert render_neighbours({}) == []
    assert render_corrections(None) == render_corrections({"model": "m", "corrections": []}) == []


def test_corrections_say_where_they_hold_and_what_they_rest_on() -> None:
    text = words(shown(render_corrections({"model": "m", "corrections": CORRECTIONS})))
    assert "│ m │ digits-mlp │ any others │ 0.80 │ 900 │" in text
    assert "│ m │ digits-mlp │ a, b │ 1.25 │ 30 │" in text


def test_the_command_shows_them_and_its_json_has_them(server: Any) -> None:
    answer = body()
    answer["decision"]["neighbours"] = NEIGHBOURS
    answer["interference"] = {"model": "slowdowns.model", "corrections": CORRECTIONS}
    server.answers["plan"] = [(200, answer)] * 2
    result = CliRunner().invoke(app, ["plan", "show", "--url", server.url])
    assert result.exit_code == 0
    assert "Neighbours on node" in result.stdout
    assert "corrected by what was measured" in words(result.stdout)
    result = CliRunner().invoke(app, ["plan", "show", "--url", server.url, "--json"])
    assert json.loads(result.stdout)["decision"]["neighbours"] == NEIGHBOURS
    assert json.loads(result.stdout)["interference"]["corrections"] == CORRECTIONS
