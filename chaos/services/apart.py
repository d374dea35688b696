"""A network namespace for a node: what gets to it and from it goes through one pair of virtual interfaces."""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

NETWORK = "10.213.{}"
"""First bytes of the addresses on both ends, with a number drawn for each."""

_draw = random.SystemRandom()


@dataclass(frozen=True)
class Namespace:
    """``outside`` is this machine's address as seen from within, ``inside`` the one of what runs in it."""

    name: str
    interface: str
    outside: str
    inside: str

    @property
    def prefix(self) -> list[str]:
        """What goes before a command that is to run in it."""
        return ["ip", "netns", "exec", self.name]

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """Nothing gets in or out in the block. Raises RuntimeError where that cannot be done."""
        ip("link", "set", self.interface, "down")
        try:
            yield
        finally:
            with suppress(RuntimeError):
                ip("link", "set", self.interface, "up")


@contextmanager
def namespace() -> Iterator[Namespace]:
    """A namespace until the block ends. Raises RuntimeError where this process may not make one."""
    number = _draw.randrange(10_000)
    net = NETWORK.format(number % 250)
    made = Namespace(f"accord-{os.getpid()}-{number}", f"ac{number}", f"{net}.1", f"{net}.2")
    within = f"in{number}"
    with ExitStack() as undo:  # what is there already, of the same name, is somebody else's
        ip("netns", "add", made.name)
        undo.callback(_deleted, "netns", made.name)
        ip("link", "add", made.interface, "type", "veth", "peer", "name", within)
        undo.callback(_deleted, "link", made.interface)
        ip("link", "set", within, "netns", made.name)
        ip("addr", "add", f"{made.outside}/24", "dev", made.interface)
        ip("link", "set", made.interface, "up")
        ip("-n", made.name, "addr", "add", f"{made.inside}/24", "dev", within)
        ip("-n", made.name, "link", "set", within, "up")
        ip("-n", made.name, "link", "set", "lo", "up")
        yield made


def why_no_namespaces() -> str | None:
    """Why no network namespace can be had here, None where one can."""
    if shutil.which("ip") is None:
        return "network namespaces need the command ip (iproute2), which is not there"
    try:
        with namespace():
            return None
    except RuntimeError as error:
        return f"network namespaces cannot be had: {error}"


def _deleted(kind: str, name: str) -> None:
    with suppress(RuntimeError):
        ip(kind, "del", name)


def ip(*arguments: str) -> None:
    """Run iproute2's command; raises RuntimeError with what it says where it fails."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"`ip {' '.join(arguments)}` failed: {done.stderr.strip()}")
