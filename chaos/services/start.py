"""Services by name."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from catalog.errors import ConfigError
from chaos.services.configured import CONFIG_FILES, configured
from chaos.services.digits import digits
from chaos.services.ensemble import ensemble
from chaos.services.nodes import nodes
from chaos.services.under_test import UnderTest

Start = Callable[[Path], AbstractContextManager[UnderTest]]

SERVICES: Mapping[str, Start] = {
    "digits": lambda folder: digits("digits", folder, {}),
    "ensemble": ensemble,
    "nodes": lambda folder: nodes("nodes", folder),
    "nodes-apart": lambda folder: nodes("nodes-apart", folder, apart=True),
    "digits-two-routers": lambda folder: digits("digits-two-routers", folder, {"routers": 2}, own_clock=True),
}
"""By the name that experiments give under ``configuration.service``."""


@dataclass(frozen=True)
class Choice:
    """What an experiment is run on: one of `SERVICES`, or the path of a Serve config file of one's own.

    Of the latter ``endpoint`` gets the queries, and ``dataset`` has them; None as in `configured`.
    """

    service: str
    endpoint: str | None = None
    dataset: str | None = None

    @property
    def start(self) -> Start:
        """How it is started, in a folder of its own; raises `ConfigError` where it is unknown."""
        if self.service in SERVICES:
            return SERVICES[self.service]
        if Path(self.service).suffix in CONFIG_FILES:
            return lambda folder: configured(Path(self.service), self.endpoint, self.dataset, folder)
        raise ConfigError(
            f"service {self.service!r} is unknown; the services for experiments are {', '.join(SERVICES)}, or give the "
            "path of a Serve config file"
        )


@contextmanager
def started(choice: Choice) -> Iterator[UnderTest]:
    """That service until the block ends, with a temporary folder of its own.

    Raises `ConfigError` for what is unknown, and RuntimeError where it does not start.
    """
    start = choice.start
    refuse_cluster(os.environ)
    with TemporaryDirectory(prefix="accord-chaos-") as folder, start(Path(folder)) as service:
        yield service


def refuse_cluster(environ: Mapping[str, str]) -> None:
    """Raises `ConfigError` where the environment names a cluster, which may be somebody else's."""
    if address := environ.get("RAY_ADDRESS"):
        raise ConfigError(
            f"RAY_ADDRESS is {address!r}, and experiments kill processes of the cluster that they run on; unset it, "
            "and the service under test starts one of its own on this machine"
        )
