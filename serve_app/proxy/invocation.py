"""How Serve calls the HAProxy executable."""

from collections.abc import Sequence
from dataclasses import dataclass

SUFFIX = ".accord"
"""The changed configuration lies beside Serve's own, under its name with this at the end."""


@dataclass(frozen=True)
class Invocation:
    """Serve's arguments: ``-db -f CONFIG [-dR] [-sf PID...] [-x SOCKET]``."""

    config: str
    flags: tuple[str, ...]  # all that is neither the configuration nor about predecessors
    predecessors: tuple[int, ...]  # processes that are to finish softly once this one serves
    socket: str | None  # admin socket of the predecessor that hands its listening sockets over

    @classmethod
    def of(cls, arguments: Sequence[str]) -> "Invocation | None":
        """None where the arguments name no configuration, such as ``-v``."""
        flags: list[str] = []
        predecessors: list[int] = []
        config = socket = None
        rest = list(arguments)
        while rest:
            argument = rest.pop(0)
            if argument == "-f" and rest:
                config = rest.pop(0)
            elif argument == "-x" and rest:
                socket = rest.pop(0)
            elif argument == "-sf":
                while rest and rest[0].isdigit():
                    predecessors.append(int(rest.pop(0)))
            else:
                flags.append(argument)
        return None if config is None else cls(config, tuple(flags), tuple(predecessors), socket)

    @property
    def changed_config(self) -> str:
        """Where the changed configuration goes."""
        return self.config + SUFFIX

    def arguments(self, inner_socket: str, predecessors: Sequence[int]) -> list[str]:
        """For HAProxy itself; with ``predecessors``, their listening sockets come through ``inner_socket``."""
        given = [*self.flags, "-f", self.changed_config]
        if predecessors:
            given += ["-sf", *map(str, predecessors), "-x", inner_socket]
        return given
