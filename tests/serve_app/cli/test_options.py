"""Options that are numbers: infinity, NaN and times beyond all bounds are refused."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from serve_app.cli.main import app

SECONDS = [
    "load --duration",
    "load --timeout",
    "load --slo-ms",
    "query --timeout",
    "query --slo-ms",
    "status --timeout",
    "status --watch",
    "profile --budget",
    "interference measure --out x --budget-s",
]
OTHERS = ["profile --batch-bytes", "profile --threshold-qps"]


@pytest.mark.parametrize("command", [*SECONDS, *OTHERS])
@pytest.mark.parametrize("value", ["inf", "nan", "1e300"])
def test_numbers_beyond_all_bounds_are_refused(
    command: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, [*command.split(), value])
    assert result.exit_code == 2, result.output
    assert f"Invalid value for '{command.split()[-1]}'" in result.stderr
