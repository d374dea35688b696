import json
from typing import Any

from typer.testing import CliRunner

from serve_app.cli.main import app


def accord(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["unregister", *arguments])


def test_names_are_deleted_one_by_one(server: Any) -> None:
    server.answers = {f"variants/{name}": [(200, {"variant": name})] for name in ("new", "a b")}
    result = accord("new", "a b", "--url", server.url)
    assert (result.exit_code, result.output) == (0, "Unregistered: new, a b\n")
    assert server.deleted == ["variants/new", "variants/a b"]


def test_scripts_get_json(server: Any) -> None:
    server.answers["variants/new"] = [(200, {"variant": "new"})]
    assert json.loads(accord("new", "--json", "--url", server.url).stdout) == {"variants": ["new"]}


def test_a_refusal_is_told_with_what_is_gone_already(server: Any) -> None:
    server.answers = {
        "variants/new": [(200, {"variant": "new"})],
        "variants/best": [(400, {"error": "variant 'best' is in the service's config"})],
    }
    result = accord("new", "best", "--url", server.url)
    assert result.exit_code == 1
    assert "variant 'best' is not unregistered: " in result.output
    assert "400: variant 'best' is in the service's config; unregistered before it: new" in " ".join(
        result.output.split()
    )
