"""A class that changes together with what stands beside it, imported again into the same process."""

from pathlib import Path

import numpy as np
import pytest
from user_code_scene import variant, write_module

from catalog.errors import ArtifactError
from catalog.store import FsspecStore
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.making import make_runtime

USES = """
    from {helpers} import {name}

    class Doubles:
        def setup(self, device):
            pass

        def predict(self, inputs):
            return {{"y": {name}(inputs["x"])}}
"""
X = np.array([[1, 2, 3]], np.float32)


def answers(folder: Path, name: str, factor: int, helpers: str = "helpers_of_mine") -> list[float]:
    write_module(folder, f"def {name}(x):\n    return {factor} * x\n", helpers)
    write_module(folder, USES.format(name=name, helpers=helpers))
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


def test_another_module_gets_what_its_helpers_have_become(tmp_path: Path) -> None:
    assert answers(tmp_path, "twice", 2, "shared_of_mine") == [2, 4, 6]
    write_module(tmp_path, "def fivefold(x):\n    return 5 * x\n", "shared_of_mine")
    write_module(tmp_path, USES.format(name="fivefold", helpers="shared_of_mine"), "other_of_mine")
    other = variant("other_of_mine:Doubles")
    runtime = make_runtime(other, FsspecStore(str(tmp_path), tmp_path / "cache"), RuntimeOptions())
    runtime.load()
    assert runtime.run({"x": X})["y"][0].tolist() == [5, 10, 15]


def test_an_import_that_failed_is_tried_with_what_was_corrected_beside_it(tmp_path: Path) -> None:
    write_module(tmp_path, "nothing = 0\n", "late_helpers")
    write_module(tmp_path, USES.format(name="sixfold", helpers="late_helpers"), "late_of_mine")
    late = variant("late_of_mine:Doubles")
    runtime = make_runtime(late, FsspecStore(str(tmp_path), tmp_path / "cache"), RuntimeOptions())
    with pytest.raises(ArtifactError, match="cannot import name 'sixfold'"):
        runtime.load()
    write_module(tmp_path, "def sixfold(x):\n    return 6 * x\n", "late_helpers")
    runtime.load()
    assert runtime.run({"x": X})["y"][0].tolist() == [6, 12, 18]
