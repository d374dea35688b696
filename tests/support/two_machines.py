"""Two machines as far as a network goes: namespaces that one cable joins, with processes of their own."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.services.apart import ip

_draw = random.SystemRandom()
BIN = Path(sys.executable).parent
APART = ("setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""A command ends with what started it, and all that it started ends with it."""


@dataclass(frozen=True)
class Machine:
    """``address`` is what the other one reaches it at."""

    name: str
    address: str

    def run(self, command: str, env: Mapping[str, str], timeout_s: float = 90.0) -> str:
        """What a line of a shell prints there, this environment's commands first; raises where it fails."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.name, "bash", "-c", command],
            env=_with_commands(env),
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def running(self, command: str, env: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
        """A line of a shell runs there until the block ends, and nothing of it longer."""
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.name, *APART, "bash", "-c", command],
                env=_with_commands(env),
                stdout=out,
                stderr=out,
            )
        try:
            yield process
        except AssertionError as error:
            error.add_note(log.read_text(errors="replace")[-3000:])
            raise
        finally:
            process.kill()
            process.wait(30.0)


@contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Raises RuntimeError where this process may not make namespaces (`chaos.services.apart.why_no_namespaces`)."""
    number = _draw.randrange(10_000)
    machines = [Machine(f"m{number}-{end}", f"10.214.{number % 250}.{end}") for end in (1, 2)]
    with ExitStack() as undo:
        for machine in machines:
            ip("netns", "add", machine.name)
            undo.callback(ip, "netns", "del", machine.name)
        one, other = machines
        ip("link", "add", "cable", "netns", one.name, "type", "veth", "peer", "name", "cable", "netns", other.name)
        for machine in machines:
            ip("-n", machine.name, "addr", "add", f"{machine.address}/24", "dev", "cable")
            for interface in ("cable", "lo"):
                ip("-n", machine.name, "link", "set", interface, "up")
        yield one, other


def _with_commands(env: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, **env, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
