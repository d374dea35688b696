"""A catalogue, and labelled data for it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from evaluate_scene import NAMES, ROWS

from catalog.catalogue import BUILTIN
from catalog.zoo.digits import held_out


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """A catalogue of two of the built-in digits that declares what they are not."""
    content = yaml.safe_load(BUILTIN.read_text())
    entries = [each | {"accuracy": 0.5} for each in content["variants"] if each["name"] in NAMES]
    (tmp_path / "models").mkdir()
    for name in NAMES:
        shutil.copy(BUILTIN.parent / "models" / f"{name}.onnx", tmp_path / "models")
    path = tmp_path / "catalogue.yaml"
    path.write_text(yaml.safe_dump({"variants": entries}))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    images, labels = held_out()
    np.savez(tmp_path / "digits.npz", image=images[:ROWS], label=labels[:ROWS])
    return tmp_path / "digits.npz"
