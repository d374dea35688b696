"""What stands between the stages: cuts digits out, puts what was read of them together again, writes the number.

A strip has a digit wherever its ``starts`` are above `PRESENT`; of more than nine, the first nine count. `crop` and
`collect` find the same ones in the same order, so that the rows between them need no other mark.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from catalog.adapter import adapter
from catalog.tensor import Arrays
from catalog.zoo.strips.layout import DIGIT_WIDTH, HEIGHT, MARGIN, MAX_DIGITS, SIDE, WIDTH

PRESENT = 0.5
"""Score of a column above which a digit starts there."""

_IMAGE = f"UINT8[-1,{HEIGHT},{WIDTH}]"
_STARTS = f"FP32[-1,{WIDTH}]"
_CUT = f"FP32[-1,{SIDE},{SIDE}]"
_AXIS = np.arange(SIDE)


class Found(NamedTuple):
    """Digits found, strip by strip and from left to right: the strip of each, its first column, its place in there."""

    strips: NDArray[np.intp]
    columns: NDArray[np.intp]
    places: NDArray[np.intp]


def found_digits(starts: NDArray[np.float32]) -> Found:
    """What ``starts`` [N, 128] say."""
    strips, columns = np.nonzero(starts > PRESENT)
    places = np.arange(len(strips)) - np.searchsorted(strips, strips)  # how many of the strip stand before it
    if len(places) and places.max() >= MAX_DIGITS:
        kept = places < MAX_DIGITS
        return Found(strips[kept], columns[kept], places[kept])
    return Found(strips, columns, places)


@adapter(inputs={"image": _IMAGE, "starts": _STARTS}, outputs={"image": _CUT})
def crop(image: NDArray[np.uint8], starts: NDArray[np.float32]) -> Arrays:
    """The digits of strips as task ``digits`` takes them, each with its box in the middle: [digits, 12, 12].

    What is closer to a neighbour's box than to its own is left empty, and so is what lies beside the strip.
    """
    strips, columns, _ = found_digits(starts)
    low, high = np.zeros_like(columns), np.full_like(columns, WIDTH)
    middle = (columns[:-1] + DIGIT_WIDTH + columns[1:] + 1) // 2
    inner = strips[:-1] == strips[1:]
    np.copyto(low[1:], middle, where=inner)
    np.copyto(high[:-1], middle, where=inner)
    wanted = columns[:, None] - MARGIN + _AXIS
    own = (wanted >= low[:, None]) & (wanted < high[:, None])
    cut = image[strips[:, None, None], _AXIS[:, None], wanted.clip(0, WIDTH - 1)[:, None]]
    return {"image": np.multiply(cut, own[:, None], dtype=np.float32)}


@adapter(
    inputs={"starts": _STARTS, "probabilities": "FP32[-1,10]"},
    outputs={"probabilities": f"FP32[-1,{MAX_DIGITS},10]", "length": "INT64[-1]"},
)
def collect(starts: NDArray[np.float32], probabilities: NDArray[np.float32]) -> Arrays:
    """The ``probabilities`` [digits, 10] of all digits that `crop` cut, by strip: [N, 9, 10], 0 behind the last.

    ``length`` [N] is how many there are. Raises `ValueError` where it is of another number of digits.
    """
    strips, _, places = found_digits(starts)
    if len(strips) != len(probabilities):
        raise ValueError(f"{len(probabilities)} digits were read and {len(strips)} found; give those that crop cut")
    by_strip = np.zeros((len(starts), MAX_DIGITS, 10), dtype=np.float32)
    by_strip[strips, places] = probabilities
    return {"probabilities": by_strip, "length": np.bincount(strips, minlength=len(starts))}


@adapter(
    inputs={"digits": f"INT64[-1,{MAX_DIGITS}]", "valid": "BOOL[-1]"},
    outputs={"label": "BYTES[-1]", "valid": "BOOL[-1]"},
)
def number(digits: NDArray[np.int64], valid: NDArray[np.bool_]) -> Arrays:
    """Numbers written out, empty where no digit was found, and whether their check digits hold."""
    rows = ["".join(str(digit) for digit in row if digit >= 0) for row in digits.tolist()]
    return {"label": np.array(rows, dtype=object), "valid": valid}
