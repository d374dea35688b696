import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from serve_app.cli.main import app

ROOT = Path(__file__).parents[3]


def test_the_version_is_printed() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("accord")


def test_help_names_the_commands() -> None:
    result = CliRunner().invoke(app, ["--help"])
    for command in ("query", "load", "status", "plan", "register", "unregister"):
        assert command in result.stdout


def test_help_of_run_names_what_is_served_by_default() -> None:
    shown = CliRunner().invoke(app, ["run", "--help"], terminal_width=200).stdout
    assert "[default: serve.yaml, else configs/quickstart.yaml]" in " ".join(shown.replace("│", " ").split())


def test_an_unknown_command_exits_with_two() -> None:
    assert CliRunner().invoke(app, ["lode"]).exit_code == 2


def test_neither_ray_nor_a_model_library_is_imported_to_start() -> None:
    check = (
        "import sys, serve_app.cli.main; print(sorted({'ray', 'torch', 'sklearn', 'onnxruntime'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
