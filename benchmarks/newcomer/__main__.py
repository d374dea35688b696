"""How long a newcomer takes from nothing to a right answer of their own class, by docs/your-code.md.

``python -m benchmarks.newcomer --json``. The commands of the page are run and its blocks put where it says; what a
person takes to read and type is not in the figures. Kept profiles are not used, since a newcomer has none.
``--clone FOLDER`` begins earlier: with ``git clone FOLDER``, a new virtual environment and ``pip install`` in it.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import yaml

from benchmarks.machine import with_machine
from benchmarks.newcomer.page import PAGE, Block, blocks_of, commands, put_in
from serve_app.cli.run.session import Session

HEADING = "From nothing to an answer"
START_S = 180.0
GOAL_S = 60.0
"""From `accord init` to the answer, on the two cores that everything here shares."""


def main() -> None:
    """Do what the page says, and print how long each step took; with --json as one JSON object, last."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object last")
    parser.add_argument("--clone", help="a repository to clone and install first, such as the path of this one")
    args = parser.parse_args()
    steps: dict[str, float] = {}
    with TemporaryDirectory(prefix="accord-newcomer-") as temporary:
        folder = Path(temporary)
        accord, env = [sys.executable, "-m", "serve_app.cli.main"], dict(os.environ)
        if args.clone:
            accord, env = _installed(args.clone, folder, steps)
        env["ACCORD_CACHE_DIR"] = str(folder / "cache")
        env.setdefault("RAY_AUTH_MODE", "disabled")
        answer = _follow(blocks_of(PAGE, HEADING), accord, env, folder, steps)
    own = sum(seconds for step, seconds in steps.items() if step.startswith("accord"))
    right = answer["correct"] is True and answer["variant"] == "means"
    goals = {
        "the answer is right, and of one's own class": right,
        f"within {GOAL_S:.0f} s of accord init": own <= GOAL_S,
    }
    body = {"steps_s": steps, "accord_s": own, "answer": answer, "goals": goals, "goals_met": all(goals.values())}
    figures = with_machine(body, times=("steps_s", "accord_s"))
    print(orjson.dumps(figures).decode() if args.json else yaml.safe_dump(figures, sort_keys=False))


def _installed(repository: str, folder: Path, steps: dict[str, float]) -> tuple[list[str], dict[str, str]]:
    """The command of a clone in an environment of its own."""
    clone, python = folder / "accord", folder / "venv" / "bin" / "python"
    with _timed("git clone", steps):
        _run(["git", "clone", "--quiet", repository, str(clone)], folder, os.environ)
    with _timed("venv and pip install", steps):
        _run([sys.executable, "-m", "venv", str(folder / "venv")], folder, os.environ)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", "constraints.txt", "-e", "."]
        _run([str(python), *install], clone, os.environ)
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return [str(python.parent / "accord")], env | {"PATH": path}


def _follow(
    blocks: tuple[Block, ...], accord: list[str], env: Mapping[str, str], folder: Path, steps: dict[str, float]
) -> dict[str, Any]:
    """What the page says, to its first query; gives the answer."""
    service: Session | None = None
    with (folder / "log").open("w+b") as log:
        try:
            for block in blocks:
                if block.language != "bash":
                    put_in(block, folder)
                for line in commands(block) if block.language == "bash" else ():
                    words = shlex.split(line, comments=True)
                    if words[0] == "cd":
                        folder = folder / words[1]
                    elif words == ["accord", "run"]:
                        with _timed(line, steps):
                            service = _started([*accord, "run"], env, folder, log)
                    elif words[:2] == ["accord", "query"]:
                        with _timed(line, steps):
                            said = _run([*accord, *words[1:], "--json"], folder, env)
                        answer: dict[str, Any] = orjson.loads(said)
                        return {key: answer[key] for key in ("variant", "label", "correct")}
                    else:
                        with _timed(line, steps):
                            _run([*accord, *words[1:]], folder, env)
        finally:
            if service is not None:
                service.stop()
    raise RuntimeError(f"{PAGE} asks the service nothing")


def _started(command: list[str], env: Mapping[str, str], folder: Path, log: Any) -> Session:
    """`accord run`, which has printed how to query it."""
    service = Session(command, env, log, folder)
    deadline_s = time.monotonic() + START_S
    while b"curl " not in (text := Path(log.name).read_bytes()):
        if service.poll() is not None or time.monotonic() > deadline_s:
            service.stop()
            raise RuntimeError(f"accord run did not serve:\n{text.decode(errors='replace')[-3000:]}")
        time.sleep(0.1)
    return service


def _run(command: list[str], folder: Path, env: Mapping[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=dict(env), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)} failed:\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


@contextmanager
def _timed(step: str, steps: dict[str, float]) -> Iterator[None]:
    began_s = time.perf_counter()
    yield
    steps[step] = time.perf_counter() - began_s
    print(f"{steps[step]:6.1f} s  {step}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
