"""A file that makes emulated runs slower or faster while they are served."""

import json
import logging
import math
import os
from pathlib import Path
from typing import Any

from catalog.errors import ConfigError

logger = logging.getLogger("ray.serve")

OTHERS = "default"
"""Key of the factor of the workers that a file does not name."""


class FactorFile:
    """The factor on all run times of one worker: 1 while the file is not there.

    The file holds a number above 0, or a JSON object of worker ids to such numbers, where ``default`` (1 unless given)
    is for all others. It is looked at before every run and read when it changed. Replace it whole (write beside it and
    rename), since one that cannot be used while runs go on leaves the factor as it was, and is logged.
    """

    def __init__(self, path: Path, worker: str) -> None:
        self._path = path
        self._worker = worker
        self._seen: tuple[int, ...] | None = None
        self._factor = 1.0

    def read(self) -> float:
        """The factor of the file as it is now; raises `ConfigError` where it cannot be used."""
        try:
            content = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return 1.0
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read factor file {self._path}: {error}; give the path of a text file") from error
        try:
            given = json.loads(content)
        except json.JSONDecodeError as error:
            raise self._fault(content) from error
        if isinstance(given, dict):
            for value in given.values():
                self._checked(value)
            given = given.get(self._worker, given.get(OTHERS, 1.0))
        return self._checked(given)

    def factor(self) -> float:
        """The factor for the run that begins now."""
        seen = self._stamp()
        if seen != self._seen:
            self._seen = seen
            try:
                self._factor = self.read()
            except ConfigError as error:
                logger.error("Run times keep factor %g: %s", self._factor, error)
            else:
                logger.info("Run times of emulated variants are taken %g times.", self._factor)
        return self._factor

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            stat = os.stat(self._path)
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _checked(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self._fault(value)
        return float(value)

    def _fault(self, value: object) -> ConfigError:
        return ConfigError(
            f"factor file {self._path} holds {value!r}; write a number above 0, or a JSON object of worker ids and "
            f"{OTHERS!r} to such numbers"
        )
