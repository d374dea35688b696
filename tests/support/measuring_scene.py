"""Variants that do nothing but take time, for processes that are really started."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from catalog.errors import ArtifactError
from predictor.measure import co_location


def measure_quickly(patch: pytest.MonkeyPatch) -> None:
    """One cycle of turns is enough for each configuration, whatever its error is and whatever else runs."""
    patch.setattr(co_location, "LEAST_CYCLES", 1)
    patch.setattr(co_location, "TARGET_ERROR", float("inf"))
    patch.setattr(co_location, "QUIET_FRAC", 0.999)


@dataclass(frozen=True)
class ToyProgram:
    name: str
    diary: Path

    def batch_of(self, rows: int) -> Callable[[], object]:
        if self.name == "sleeps":
            return lambda: time.sleep(0.0004 * rows)
        if self.name == "hoards":
            held = b"x" * (rows << 20)
            return lambda: time.sleep(0.0004 * rows + 0 * len(held))
        if self.name == "fails":
            return self._fail_later()
        if self.name == "dies":
            return self._die_later()
        return lambda: sum(range(2000 * rows))

    def _fail_later(self) -> Callable[[], object]:
        left = iter(range(1))

        def fail() -> None:
            if next(left, None) is None:
                raise ArtifactError("variant 'fails' does so in its second batch")

        return fail

    def _die_later(self) -> Callable[[], object]:
        left = iter(range(1))

        def die() -> None:
            if next(left, None) is None:
                os._exit(1)

        return die

    def memory_bytes(self) -> int:
        return 100

    def unload(self) -> None:
        write(self.diary, f"unload {self.name}")


@dataclass(frozen=True)
class ToyPrograms:
    """``sleeps`` 0.4 ms per row, ``hoards`` does with a megabyte of memory for each, ``fails`` in its second batch,
    ``dies`` then; all others compute.

    What is loaded and unloaded is written into ``diary``, with the CPUs that the process may use.
    """

    diary: Path

    def prepare(self, variant: str) -> None:
        write(self.diary, f"prepare {variant}")

    def load(self, variant: str) -> ToyProgram:
        write(self.diary, f"load {variant} {sorted(os.sched_getaffinity(0))}")
        return ToyProgram(variant, self.diary)


def write(diary: Path, line: str) -> None:
    with diary.open("a") as file:
        file.write(line + "\n")
