"""A class that changes together with what stands beside it, imported again into the same process."""

from pathlib import Path

import numpy as np
from user_code_scene import variant, write_module

from catalog.store import FsspecStore
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.making import make_runtime

USES = """
    from helpers_of_mine import {name}

    class Doubles:
        def setup(self, device):
            pass

        def predict(self, inputs):
            return {{"y": {name}(inputs["x"])}}
"""
X = np.array([[1, 2, 3]], np.float32)


def answers(folder: Path, name: str, factor: int) -> list[float]:
    write_module(folder, f"def {name}(x):\n    return {factor} * x\n", "helpers_of_mine")
    write_module(folder, USES.format(name=name))
    runtime = make_runtime(variant(), FsspecStore(str(folder), folder / "cache"), RuntimeOptions())
    runtime.load()
    found: list[float] = runtime.run({"x": X})["y"][0].tolist()
    return found


def test_a_module_that_changed_is_imported_with_those_beside_it(tmp_path: Path) -> None:
    assert answers(tmp_path, "twice", 2) == [2, 4, 6]
    assert answers(tmp_path, "thrice", 3) == [3, 6, 9]
    write_module(tmp_path, "def thrice(x):\n    return 30 * x  # longer\n", "helpers_of_mine")
    runtime = make_runtime(variant(), FsspecStore(str(tmp_path), tmp_path / "cache"), RuntimeOptions())
    runtime.load()
    assert runtime.run({"x": X})["y"][0].tolist() == [30, 60, 90], "only what stands beside it changed"
