"""The key that the commands send."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from security_scene import new_key, secret_file
from typer.testing import CliRunner

from catalog.errors import ConfigError
from serve_app.cli.credentials import KEY, key_headers, use_key_file
from serve_app.cli.main import app


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(KEY, raising=False)
    yield
    use_key_file(None)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str | None]]]:
    """A server, and the authorizations that it was sent."""
    seen: list[str | None] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.send_response(403)
            self.end_headers()
            self.wfile.write(b'{"error": "not yours"}')

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("command", [["status"], ["plan", "show"], ["query"], ["load", "--duration", "0.1"]])
def test_commands_send_the_key_of_the_file_else_that_of_the_environment_else_none(
    command: list[str], sent: tuple[str, list[str | None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, seen = sent
    mine, other = new_key(), new_key()
    line = [*command, "--url", url]
    outputs = [CliRunner().invoke(app, line)]
    monkeypatch.setenv(KEY, other)
    outputs.append(CliRunner().invoke(app, line))
    file = secret_file(tmp_path, f"{mine}\nnext-key\n")
    outputs.append(CliRunner().invoke(app, ["--api-key-file", file, *line]))
    assert seen == [None, f"Bearer {other}", f"Bearer {mine}"]
    for output in outputs:
        assert output.exit_code == 1
        assert mine not in output.output
        assert other not in output.output


def test_a_file_that_others_read_and_a_key_that_is_none_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(secret_file(tmp_path, new_key()))
    file.chmod(0o644)
    result = CliRunner().invoke(app, ["--api-key-file", str(file), "status"])
    assert result.exit_code == 2
    assert "chmod 600" in result.output
    for wrong in (str(file), str(tmp_path / "nowhere")):
        said = CliRunner().invoke(app, ["--api-key-file", wrong, "status"]).output
        assert "--api-key-file:" in said
        assert wrong in said.replace("\n", "")
    use_key_file(None)
    monkeypatch.setenv(KEY, "two words")
    with pytest.raises(ConfigError, match="holds no key"):
        key_headers()
