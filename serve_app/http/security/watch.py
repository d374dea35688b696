"""Reads secrets again when their files change, so that keys come and go without a restart."""

import asyncio
import logging
import os

from catalog.errors import ConfigError
from serve_app.config.security import SecurityConfig
from serve_app.http.security.credentials import Credentials
from serve_app.http.security.gate import Gate

logger = logging.getLogger("ray.serve")

EVERY_S = 2.0

Stamp = tuple[int, int, int, int]
"""Inode, size and times of change of a file's content and of its rights; zeros where there is none."""


class SecretWatch:
    """Gives a gate new credentials; where the new ones are not right, those before stay in force."""

    def __init__(self, gate: Gate, config: SecurityConfig) -> None:
        self._gate = gate
        self._config = config
        sources = [*config.api_keys.values(), *([] if config.jwt is None else [config.jwt])]
        self._files = [source.file for source in sources if source.file is not None]
        self._stamps = self._look()
        self._failed = False

    async def run(self) -> None:
        """Look every `EVERY_S` for as long as there are files to look at."""
        while self._files:
            await asyncio.sleep(EVERY_S)
            await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Read the secrets if a file has changed since the last look, or could not be read then."""
        stamps = self._look()
        changed = stamps != self._stamps
        if not (changed or self._failed):
            return
        self._stamps = stamps
        try:
            self._gate.credentials = Credentials(self._config)
        except ConfigError as error:
            self._failed = True
            if changed:
                logger.error("The keys were not read again, and those before hold: %s", error)
        else:
            self._failed = False
            logger.info("The keys were read again.")

    def _look(self) -> list[Stamp]:
        return [_stamp(file) for file in self._files]


def _stamp(file: str) -> Stamp:
    try:
        found = os.stat(file)
    except OSError:
        return (0, 0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
