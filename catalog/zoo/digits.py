"""The data of task ``digits``: the scikit-learn digits, placed askew on a larger, noisy canvas.

Originals are split before any corruption, so no held-out digit is ever seen in training in any form. Training and
held-out images go through the same corruption; every draw comes from seeded PCG64 generators.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

SIDE = 12
"""Width and height of an image in pixels."""
LABELS = tuple(str(digit) for digit in range(10))

_SPLIT_SEED = 20
_HELD_OUT_SEED = 21
_HELD_OUT_FRAC = 0.3
_HELD_OUT_COPIES = 4

_SHIFT_PX = 2.0
_ROTATION_RAD = np.deg2rad(30.0)
_LOG_SCALE = 0.25
_NOISE_STD = 2.0
_MAX_GREY = 16.0

Images = NDArray[np.float32]
Labels = NDArray[np.int64]


@cache
def originals() -> tuple[NDArray[np.float64], Labels]:
    """All 1797 images [N, 8, 8] with grey levels 0 to 16, and their digits [N]."""
    from sklearn.datasets import load_digits  # takes a second or more to import

    digits = load_digits()
    return digits.images.astype(np.float64), digits.target.astype(np.int64)


def split() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the training originals and of the held-out originals; disjoint, together all of them."""
    count = len(originals()[1])
    order = np.random.Generator(np.random.PCG64(_SPLIT_SEED)).permutation(count)
    held_out_count = round(count * _HELD_OUT_FRAC)
    return np.sort(order[held_out_count:]), np.sort(order[:held_out_count])


def corrupt(images: NDArray[np.float64], rng: np.random.Generator) -> Images:
    """Place originals [N, 8, 8] on canvases [N, 12, 12]: random shift, rotation and scale, then noise.

    Grey levels are rounded to whole numbers from 0 to 16, which keeps them short in JSON.
    """
    count = len(images)
    shift_px = rng.uniform(-_SHIFT_PX, _SHIFT_PX, (count, 2, 1, 1))
    angle = rng.uniform(-_ROTATION_RAD, _ROTATION_RAD, (count, 1, 1))
    scale = np.exp(rng.uniform(-_LOG_SCALE, _LOG_SCALE, (count, 1, 1)))
    noise = rng.normal(0.0, _NOISE_STD, (count, SIDE, SIDE))
    return whole_grey(place(images, shift_px, angle, scale) + noise)


def whole_grey(canvas: NDArray[np.float64]) -> Images:
    """Grey levels rounded to whole numbers from 0 to 16."""
    return np.clip(np.rint(canvas), 0.0, _MAX_GREY).astype(np.float32)


def place(
    images: NDArray[np.float64],
    shift_px: NDArray[np.float64],
    angle_rad: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Originals [N, 8, 8] shifted [N, 2, 1, 1] (down, right), turned [N, 1, 1] and scaled [N, 1, 1]: [N, 12, 12]."""
    axis = np.arange(SIDE) - (SIDE - 1) / 2
    rows = axis[None, :, None] - shift_px[:, 0]
    columns = axis[None, None, :] - shift_px[:, 1]
    middle = (images.shape[1] - 1) / 2
    source_rows = (np.cos(angle_rad) * rows - np.sin(angle_rad) * columns) / scale + middle
    source_columns = (np.sin(angle_rad) * rows + np.cos(angle_rad) * columns) / scale + middle
    return _bilinear(images, source_rows, source_columns)


def _bilinear(
    images: NDArray[np.float64], rows: NDArray[np.float64], columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Values of images [N, H, W] at fractional coordinates [N, h, w]; 0 outside."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    rows = np.clip(rows + 1, 0, padded.shape[1] - 1.001)
    columns = np.clip(columns + 1, 0, padded.shape[2] - 1.001)
    top, left = rows.astype(np.int64), columns.astype(np.int64)
    down, right = rows - top, columns - left
    item = np.arange(len(images))[:, None, None]
    upper = padded[item, top, left] * (1 - right) + padded[item, top, left + 1] * right
    lower = padded[item, top + 1, left] * (1 - right) + padded[item, top + 1, left + 1] * right
    return np.asarray(upper * (1 - down) + lower * down)


def held_out() -> tuple[Images, Labels]:
    """The test set: images [N, 12, 12] and digits [N], several corrupted copies of each held-out original."""
    images, digits = originals()
    chosen = np.repeat(split()[1], _HELD_OUT_COPIES)
    rng = np.random.Generator(np.random.PCG64(_HELD_OUT_SEED))
    return corrupt(images[chosen], rng), digits[chosen]


def held_out_originals() -> int:
    """How many digits the test set has copies of, all copies of one side by side."""
    return len(split()[1])


def training(seed: int, batch_size: int) -> Iterator[tuple[Images, Labels]]:
    """Endless shuffled training batches: images [batch_size, 12, 12] and digits [batch_size].

    Each pass over the training originals corrupts them afresh; a last, smaller batch of a pass is left out.
    """
    images, digits = originals()
    chosen = split()[0]
    rng = np.random.Generator(np.random.PCG64(seed))
    while True:
        order = rng.permutation(chosen)
        corrupted = corrupt(images[order], rng)
        for start in range(0, len(order) - batch_size + 1, batch_size):
            taken = slice(start, start + batch_size)
            yield corrupted[taken], digits[order[taken]]
