"""When a strip counts as found and as read, and what the accuracies in the catalogue are measured on."""

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catalog.tensor import Arrays
from catalog.zoo.session import session
from catalog.zoo.strips.adapters import PRESENT, collect, crop
from catalog.zoo.strips.layout import WIDTH
from catalog.zoo.strips.strips import MEASURED_STRIPS, SEEDS, Split, Strips, sample_strips

MODELS = Path(__file__).parent.parent / "models"
UPSTREAM_READER = "digits-cnn-m"
"""The variant of task ``digits`` on whose readings the accuracy of a checker is measured."""

_TOLERANCE_PX = 2


def measured_strips(split: Split) -> Strips:
    """Those on which something is measured or, of the training split, chosen."""
    return sample_strips(split, MEASURED_STRIPS, SEEDS[split])


def true_starts(strips: Strips) -> NDArray[np.float32]:
    """The ``starts`` [N, 128] of a finder that makes no error."""
    starts = np.zeros((len(strips.images), WIDTH), dtype=np.float32)
    rows, places = np.nonzero(strips.starts >= 0)
    starts[rows, strips.starts[rows, places]] = 1.0
    return starts


def found_share(strips: Strips, starts: NDArray[np.floating]) -> float:
    """Share of the strips whose digits are all found, each within 2 columns, and nothing else."""
    found = starts > PRESENT
    alike = found.sum(axis=1) == strips.lengths
    rows, at = np.nonzero(found & alike[:, None])
    columns = np.full_like(strips.starts, -1)
    columns[rows, np.arange(len(rows)) - np.searchsorted(rows, rows)] = at
    return float((alike & (np.abs(columns - strips.starts) <= _TOLERANCE_PX).all(axis=1)).mean())


def number_share(strips: Strips, digits: NDArray[np.int64]) -> float:
    """Share of the strips whose number is right; ``digits`` [N, 9] has -1 behind the last."""
    return float((digits == strips.digits).all(axis=1).mean())


def finder_accuracy(path: Path) -> float:
    """`found_share` of the test strips."""
    strips = measured_strips("test")
    return found_share(strips, session(path).run(["starts"], {"image": strips.images})[0])


def checker_accuracy(path: Path) -> float:
    """`number_share` of the test strips, their digits cut where they are and read by `UPSTREAM_READER`."""
    strips, readings = _readings()
    return number_share(strips, session(path).run(["digits"], readings)[0])


@cache
def _readings() -> tuple[Strips, Arrays]:
    strips = measured_strips("test")
    starts = true_starts(strips)
    reader = session(MODELS / f"{UPSTREAM_READER}.onnx")
    (probabilities,) = reader.run(["probabilities"], crop(image=strips.images, starts=starts))
    return strips, collect(starts=starts, probabilities=probabilities)
