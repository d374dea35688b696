"""The request that `accord run` prints."""

from typing import Any

import pytest

from serve_app.cli.run.command import _example


@pytest.mark.parametrize(
    ("spec", "shape", "data"),
    [
        ({"datatype": "INT64", "shape": [-1, -1]}, [1, 1], [0]),
        ({"datatype": "FP32", "shape": [-1, 2, -1]}, [1, 2, 1], [0, 0]),
        ({"datatype": "BYTES", "shape": [-1]}, [1], ["a fine day"]),
        ({"datatype": "BYTES", "shape": [-1, 2]}, [1, 2], ["a fine day", "a fine day"]),
    ],
)
def test_an_example_has_the_shape_that_it_says(spec: dict[str, Any], shape: list[int], data: list[Any]) -> None:
    found = _example("other", {"name": "x"} | spec)
    assert (found["shape"], found["data"]) == (shape, data)
