"""Classes of a user, written into a folder, and the variants that name them."""

from pathlib import Path
from textwrap import dedent
from typing import Any

from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant


def write_module(folder: Path, text: str, name: str = "mine") -> Path:
    """A module in a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(dedent(text))
    return path


def variant(import_path: str = "mine:Doubles", **changes: Any) -> Variant:
    """A class that takes ``x`` FP32 [-1, 3] and gives ``y`` of the same."""
    tensor = {"datatype": "FP32", "shape": (-1, 3)}
    given: dict[str, Any] = {
        "name": "own",
        "task": "t",
        "runtime": "python",
        "artifact": Artifact(import_path=import_path),
        "accuracy": 0.5,
        "inputs": (TensorSpec(name="x", **tensor),),
        "outputs": (TensorSpec(name="y", **tensor),),
    }
    return Variant(**(given | changes))
