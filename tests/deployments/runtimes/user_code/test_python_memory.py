"""Memory of a user's class: what the catalogue says, else what the process grew by."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from user_code_scene import variant, write_module

from catalog.store import FsspecStore
from catalog.variant import Artifact, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.making import make_runtime

HOLDS = """
    import numpy as np

    class Doubles:
        def setup(self, device):
            self.held = [np.ones({size}, np.uint8) for _ in range({pieces})]

        def predict(self, inputs):
            return {{"y": 2 * inputs["x"]}}
"""
SIZE = 60_000_000


def before_and_after(folder: Path, given: Variant, pieces: int, freed: int = 0) -> tuple[int, int]:
    """Told memory before and after a load; so much was allocated in such pieces and ``freed`` before."""
    write_module(folder, HOLDS.format(size=SIZE // pieces, pieces=pieces))
    runtime = make_runtime(given, FsspecStore(str(folder), folder / "cache"), RuntimeOptions())
    held = [b"1" * (SIZE // pieces) for _ in range(freed * pieces // SIZE)]
    last = held[-1:]  # above the others, so that the heap can't shrink by itself
    held.clear()
    before = runtime.memory_bytes()
    runtime.load()
    del last
    return before, runtime.memory_bytes()


def apart(folder: Path, given: Variant, pieces: int = 1, freed: int = 0) -> tuple[int, int]:
    """`before_and_after` in a process of its own, as workers are: other tests let go of memory when they please."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(before_and_after, folder, given, pieces, freed).result()


def test_what_is_declared_holds(tmp_path: Path) -> None:
    given = variant(artifact=Artifact(import_path="mine:Doubles", memory_bytes=123))
    assert apart(tmp_path, given) == (123, 123)


def test_otherwise_it_is_what_the_process_grew_by(tmp_path: Path) -> None:
    before, after = apart(tmp_path, variant())
    assert before == 0
    assert 0.8 * SIZE < after < 3 * SIZE


def test_memory_that_lay_free_in_the_process_hides_nothing(tmp_path: Path) -> None:
    _, after = apart(tmp_path, variant(), pieces=6_000, freed=2 * SIZE)
    assert 0.8 * SIZE < after < 3 * SIZE
