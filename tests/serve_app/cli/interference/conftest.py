"""Files of measurements by a known law."""

from typing import NamedTuple

import pytest

import slowdown_scene as scene


class Files(NamedTuple):
    """Paths of two CSV files."""

    measurements: str
    variants: str


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """All pairs, a few triples and a few repeats on one machine type."""
    measured = scene.measured(["small"], triples=4, noise=0.01, repeats=5)
    return Files(*scene.write_files(tmp_path_factory.mktemp("files"), measured, scene.table(["small"])))
