"""The data: numbers of 4 to 9 handwritten digits, written on a strip with uneven gaps, askew, among marks and noise.

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

Places = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Strips and first columns of what is written on them."""

_GAPS = np.array([-1, -1, 0, 0, 1, 1, 2, 3])
"""Columns between two neighbours' boxes, all equally likely; the boxes have empty columns of their own."""
_MAX_MARKS = 3
"""Marks that are no digits: corners of originals, left or right of the number or in between."""
_MARK_WIDTH = 5
_DOWN_PX = 1.5
_RIGHT_PX = 0.5
_ROTATION_RAD = np.deg2rad(20.0)
_LOG_SCALE = 0.2
_DIGIT_INK, _MARK_INK = (0.85, 1.0), (0.6, 1.0)
"""Between which shares of their grey levels they are written."""
_NOISE_STD = 2.3


@dataclass(frozen=True)
class Strips:
    """``images`` UINT8 [N, 12, 128] with grey levels 0 to 16, and what is written on each.

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
    digit_at, mark_at = _layout(lengths, rng)
    ink = np.zeros((count, HEIGHT, WIDTH))
    present = written >= 0
    _write(ink, digit_at, _drawn(written[present], split, rng), _DIGIT_INK, rng)
    marks = _corners(_drawn(rng.integers(0, 10, len(mark_at[0])), split, rng), rng)
    _write(ink, mark_at, marks, _MARK_INK, rng)
    starts = np.full_like(written, -1)
    starts[present] = digit_at[1]
    noisy = digits.whole_grey(ink + rng.normal(0.0, _NOISE_STD, ink.shape))
    return Strips(noisy.astype(np.uint8), written, starts, lengths)


def _numbers(lengths: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Random numbers that end in their check digits: [N, 9] with -1 behind the last."""
    drawn = rng.integers(0, 10, (len(lengths), MAX_DIGITS))
    drawn[np.arange(len(lengths)), lengths - 1] = states_after(drawn, lengths - 1)
    return np.where(np.arange(MAX_DIGITS) < lengths[:, None], drawn, -1)


def _layout(lengths: NDArray[np.int64], rng: np.random.Generator) -> tuple[Places, Places]:
    """Where digits and marks stand: strip by strip, from left to right."""
    items = lengths + rng.integers(0, _MAX_MARKS + 1, len(lengths))
    shape = (len(lengths), MAX_DIGITS + _MAX_MARKS)
    there = np.arange(shape[1]) < items[:, None]
    order = np.where(there, rng.random(shape), 1.0).argsort(axis=1).argsort(axis=1)
    is_digit = there & (order < lengths[:, None])
    widths = np.where(is_digit, DIGIT_WIDTH, _MARK_WIDTH)
    ends = (widths + rng.choice(_GAPS, shape)).cumsum(axis=1)
    offsets = np.concatenate([np.zeros((len(lengths), 1), dtype=np.int64), ends[:, :-1]], axis=1)
    last = offsets[np.arange(len(lengths)), items - 1]
    columns = rng.integers(MARGIN, WIDTH - DIGIT_WIDTH - MARGIN - last + 1)[:, None] + offsets
    is_mark = there & ~is_digit
    return (np.nonzero(is_digit)[0], columns[is_digit]), (np.nonzero(is_mark)[0], columns[is_mark])


def _drawn(labels: NDArray[np.int64], split: Split, rng: np.random.Generator) -> NDArray[np.float64]:
    """A random original of ``split`` for each of ``labels`` [D]: [D, 8, 8]."""
    images, truth = digits.originals()
    training, held_out = digits.split()
    chosen = {"train": training, "dev": held_out[::2], "test": held_out[1::2]}[split]
    picked = np.empty_like(labels)
    for digit in range(10):
        wanted = labels == digit
        picked[wanted] = rng.choice(chosen[truth[chosen] == digit], int(wanted.sum()))
    drawn: NDArray[np.float64] = images[picked]
    return drawn


def _corners(images: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """What is left of originals [M, 8, 8] in the upper or the lower half of their left or right columns."""
    size = images.shape[1]
    upper, left = rng.random((2, len(images), 1, 1)) < 0.5
    row, column = np.arange(size)[:, None], np.arange(size)
    kept = ((row < size // 2) == upper) & np.where(left, column < _MARK_WIDTH, column >= size - _MARK_WIDTH)
    return np.where(kept, images, 0.0)


def _write(
    ink: NDArray[np.float64],
    at: Places,
    images: NDArray[np.float64],
    shares: tuple[float, float],
    rng: np.random.Generator,
) -> None:
    """Write originals [D, 8, 8] askew onto strips; where boxes overlap, the darker one shows."""
    count = len(images)
    down = rng.uniform(-_DOWN_PX, _DOWN_PX, count)
    right = rng.uniform(-_RIGHT_PX, _RIGHT_PX, count)
    angle_rad = rng.uniform(-_ROTATION_RAD, _ROTATION_RAD, (count, 1, 1))
    scale = np.exp(rng.uniform(-_LOG_SCALE, _LOG_SCALE, (count, 1, 1)))
    placed = digits.place(images, np.stack([down, right], axis=1)[:, :, None, None], angle_rad, scale)
    placed *= rng.uniform(*shares, (count, 1, 1))
    strips, columns = at
    wanted = (columns - MARGIN)[:, None, None] + np.arange(digits.SIDE)
    np.maximum.at(ink, (strips[:, None, None], np.arange(HEIGHT)[:, None], wanted), placed)
