import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from serve_app.cli.main import SUBCOMMANDS, app

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


def test_a_mistyped_command_is_told_its_neighbour() -> None:
    assert "Did you mean 'load'?" in CliRunner().invoke(app, ["lod"]).output


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_the_list_of_commands_has_the_first_sentence_of_each(name: str) -> None:
    command = SUBCOMMANDS[name].load(name)
    assert command.name == name
    first, _, _ = command.help.partition("\n\n")
    assert " ".join(first.split()) == SUBCOMMANDS[name].help


def imported(code: str, *modules: str) -> list[str]:
    check = f"import sys\n{code}\nprint(*sorted(set({modules!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_neither_ray_nor_a_model_library_is_imported_to_start() -> None:
    code = "from serve_app.cli.main import SUBCOMMANDS\nfor each in SUBCOMMANDS: SUBCOMMANDS[each].load(each)"
    assert imported(code, "ray", "torch", "sklearn", "onnxruntime", "matplotlib", "numpy") == ["numpy"]


def test_a_command_does_not_wait_for_the_imports_of_the_others() -> None:
    shown = "from serve_app.cli.main import app\napp(['query', '--help'], standalone_mode=False)"
    assert imported(shown, "scipy", "serve_app.cli.query", "serve_app.cli.run.command") == ["serve_app.cli.query"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_that_are_closed_lead_nowhere_also_for_what_is_started(closed: str) -> None:
    code = (
        "import os, subprocess, sys; from serve_app.cli.console import ERR, OUT; OUT.print('out'); ERR.print('err')\n"
        "subprocess.run(['sh', '-c', 'read nothing; echo out && echo err >&2'], check=True)\n"
        "sys.exit(int(os.pipe()[0] < 3))"
    )
    command = ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code]
    done = subprocess.run(command, cwd=ROOT, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0
