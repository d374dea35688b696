"""What the clients send to the endpoint ``mirror``, which gives every tensor back."""

from typing import Any

import numpy as np

DTYPES: dict[str, Any] = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "BYTES": np.object_,
}
ONLY_RAW = ("FP16",)
"""These clients send it in no other form."""

TEXTS = ["", "a", "grüße", "0123456789" * 30]


def samples(rows: int, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """By datatype an array of ``rows`` x 3, with the extremes of each."""
    rng = np.random.default_rng(seed)
    made: dict[str, np.ndarray[Any, Any]] = {}
    for name, dtype in DTYPES.items():
        shape = (rows, 3)
        if name == "BYTES":
            made[name] = np.array(rng.choice(TEXTS, shape).tolist(), dtype=object)
        elif name == "BOOL":
            made[name] = rng.random(shape) < 0.5
        elif np.dtype(dtype).kind in "iu":
            bounds = np.iinfo(dtype)
            made[name] = rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
            made[name][0] = [bounds.min, bounds.max, 1]
        else:
            made[name] = (rng.integers(-128, 128, shape) / 8).astype(dtype)
    return made


def same(datatype: str, given: np.ndarray[Any, Any], sent: np.ndarray[Any, Any]) -> None:
    """Raise AssertionError unless a tensor came back as it was sent; BYTES come as bytes or text."""
    if datatype == "BYTES":
        words = [each.decode() if isinstance(each, bytes) else each for each in np.ravel(given)]
        assert words == list(np.ravel(sent)), (words, sent)
        return
    np.testing.assert_array_equal(np.asarray(given).reshape(sent.shape), sent)
