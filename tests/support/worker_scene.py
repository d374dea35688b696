"""A worker of the toy models."""

from pathlib import Path

import numpy as np

from catalog.catalogue import load_catalogue
from catalog.tensor import Arrays
from catalog.variant import Variant
from deployments.messages.worker import WorkerSpec
from toy_models import write_toy_catalogue


def toy_worker_spec(folder: Path) -> WorkerSpec:
    """A worker of pool ``pool`` whose variants are written to ``folder``."""
    catalogue = load_catalogue(write_toy_catalogue(folder))
    return WorkerSpec("pool", "cpu", 1, catalogue.variants, catalogue.root, str(folder / "cache"))


def variant(spec: WorkerSpec, name: str) -> Variant:
    """The worker's variant of that name."""
    return next(each for each in spec.variants if each.name == name)


def x(*values: float) -> Arrays:
    """One query of so many rows."""
    return {"x": np.array(values, dtype=np.float32)}
