"""Services by name."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from catalog.errors import ConfigError
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


@contextmanager
def started(name: str) -> Iterator[UnderTest]:
    """The service of that name until the block ends, with a temporary folder of its own.

    Raises `ConfigError` for an unknown name and RuntimeError where it does not start.
    """
    if name not in SERVICES:
        raise ConfigError(f"service {name!r} is unknown; the services for experiments are {', '.join(SERVICES)}")
    with TemporaryDirectory(prefix="accord-chaos-") as folder, SERVICES[name](Path(folder)) as service:
        yield service
