"""Adapters and conditions as users bring them, named in configs of tests as ``pipeline_functions:...``."""

from typing import Any

import numpy as np

from catalog.adapter import adapter, condition
from catalog.zoo.strips import adapters
from catalog.zoo.strips.layout import MAX_DIGITS, WIDTH

STARTS = f"FP32[-1,{WIDTH}]"
CUT = {"image": "FP32[-1,12,12]"}
PROBABILITIES = f"FP32[-1,{MAX_DIGITS},10]"
LONG = 6
"""A number of more digits is checked."""


def _crop_written(image: Any, starts: Any) -> Any:
    if not (starts > adapters.PRESENT).any():
        raise LookupError("nothing is written on the strip")
    return adapters.crop(image=image, starts=starts)


crop = adapter(inputs={"image": f"UINT8[-1,12,{WIDTH}]", "starts": STARTS}, outputs=CUT)(_crop_written)


@condition(inputs={"starts": STARTS})
def long(starts: Any) -> bool:
    return int((starts > adapters.PRESENT).sum()) > LONG


@adapter(
    inputs={"starts": STARTS, "one": "FP32[-1,10]", "other": "FP32[-1,10]"},
    outputs={"probabilities": PROBABILITIES, "length": "INT64[-1]"},
)
def mean(starts: Any, one: Any, other: Any) -> Any:
    """Both readers' opinions, by strip."""
    return adapters.collect(starts=starts, probabilities=(one + other) / np.float32(2))


@adapter(
    inputs={"starts": STARTS, "labels": "INT64[-1]", "digits": f"INT64[-1,{MAX_DIGITS}]"},
    outputs={"label": "BYTES[-1]", "checked": "BOOL[-1]"},
)
def number(starts: Any, labels: Any, digits: Any = None) -> Any:
    """The number as it was read, or as it was mended where it was checked; one strip a query."""
    said = labels if digits is None else digits[0][digits[0] >= 0]
    return {
        "label": np.array(["".join(map(str, said.tolist()))], dtype=object),
        "checked": np.array([digits is not None]),
    }
