"""The data: numbers of 4 to 9 handwritten digits, written on a strip with uneven gaps, askew and noisy.

The digits are scikit-learn's, split as `catalog.zoo.digits` splits them: strips to train on have training originals,
and the held-out originals, which no model of either task was trained on, are dealt out to strips for development and
for test, so that these share none. Every draw comes from seeded PCG64 generators.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from catalog.zoo import digits
from catalog.zoo.strips.damm import states_after
from catalog.zoo.strips.layout import DIGIT_WIDTH, HEIGHT, MARGIN, MAX_DIGITS, MIN_DIGITS, WIDTH

Split = Literal["train", "dev", "test"]
SEEDS: dict[Split, int] = {"train": 40, "dev": 41, "test": 42}
"""Of the strips on which thresholds are chosen, combinations are measured, and variants are measured."""
MEASURED_STRIPS = 1000
"""How many of them."""

_GAPS = np.array([-1, 0, 0, 1, 1, 2, 3, 4])
"""Columns between the boxes of two neighbours, all equally likely; boxes have empty columns of their own."""
_DOWN_PX = 1.5
_RIGHT_PX = 0.5
_ROTATION_RAD = np.deg2rad(20.0)
_LOG_SCALE = 0.2
_NOISE_STD = 2.5


@dataclass(frozen=True)
class Strips:
    """``images`` UINT8 [N, 12, 112] with grey levels 0 to 16, and what is written on each.

    ``digits`` and ``starts``, the first column of each digit's box, are INT64 [N, 9] with -1 behind the last of
    ``lengths`` [N].
    """

    images: NDArray[np.uint8]
    digits: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def numbers(self) -> tuple[str, ...]:
        """What is written on each, the check digit last."""
        rows = zip(self.digits.tolist(), self.lengths.tolist(), strict=True)
        return tuple("".join(map(str, row[:length])) for row, length in rows)


def sample_strips(split: Split, count: int, seed: int) -> Strips:
    """So many strips of originals of ``split``; the same for the same arguments."""
    rng = np.random.Generator(np.random.PCG64(seed))
    lengths = rng.integers(MIN_DIGITS, MAX_DIGITS + 1, count)
    written = _numbers(lengths, rng)
    starts = _starts(lengths, rng)
    present = written >= 0
    placed = _placed(_drawn(written[present], split, rng), rng)
    ink = np.zeros((count, HEIGHT, WIDTH))
    columns = (starts[present] - MARGIN)[:, None, None] + np.arange(digits.SIDE)
    cells = (np.nonzero(present)[0][:, None, None], np.arange(HEIGHT)[:, None], columns)
    np.maximum.at(ink, cells, placed)  # where boxes overlap, the darker of the two
    noisy = digits.whole_grey(ink + rng.normal(0.0, _NOISE_STD, ink.shape))
    return Strips(noisy.astype(np.uint8), written, starts, lengths)


def _numbers(lengths: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Random numbers that end in their check digits: [N, 9] with -1 behind the last."""
    drawn = rng.integers(0, 10, (len(lengths), MAX_DIGITS))
    drawn[np.arange(len(lengths)), lengths - 1] = states_after(drawn, lengths - 1)
    return np.where(np.arange(MAX_DIGITS) < lengths[:, None], drawn, -1)


def _starts(lengths: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """First columns of the digits, with the whole anywhere on the strip: [N, 9] with -1 behind the last."""
    steps = DIGIT_WIDTH + rng.choice(_GAPS, (len(lengths), MAX_DIGITS))
    steps[:, 0] = 0
    offsets = steps.cumsum(axis=1)
    last = offsets[np.arange(len(lengths)), lengths - 1]
    first = rng.integers(MARGIN, WIDTH - DIGIT_WIDTH - MARGIN - last + 1)
    return np.where(np.arange(MAX_DIGITS) < lengths[:, None], first[:, None] + offsets, -1)


def _drawn(labels: NDArray[np.int64], split: Split, rng: np.random.Generator) -> NDArray[np.float64]:
    """A random original of ``split`` for each of ``labels`` [D]: [D, 8, 8]."""
    images, truth = digits.originals()
    training, held_out = digits.split()
    chosen = {"train": training, "dev": held_out[::2], "test": held_out[1::2]}[split]
    picked = np.empty_like(labels)
    for digit in range(10):
        wanted = labels == digit
        picked[wanted] = rng.choice(chosen[truth[chosen] == digit], int(wanted.sum()))
    return images[picked]


def _placed(images: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Originals [D, 8, 8], askew, in the middle of [D, 12, 12]."""
    count = len(images)
    down = rng.uniform(-_DOWN_PX, _DOWN_PX, count)
    right = rng.uniform(-_RIGHT_PX, _RIGHT_PX, count)
    angle_rad = rng.uniform(-_ROTATION_RAD, _ROTATION_RAD, (count, 1, 1))
    scale = np.exp(rng.uniform(-_LOG_SCALE, _LOG_SCALE, (count, 1, 1)))
    return digits.place(images, np.stack([down, right], axis=1)[:, :, None, None], angle_rad, scale)
