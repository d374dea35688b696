"""How a pool's memory is shared out."""

from math import inf
from typing import Any

import pytest
from pydantic import ValidationError

from serve_app.config.pool import PoolConfig


@pytest.mark.parametrize(
    ("given", "model_bytes"),
    [
        ({}, inf),
        ({"batch_bytes": 5}, inf),
        ({"memory_bytes": 8e9}, 8e9),
        ({"memory_bytes": 8e9, "batch_bytes": 5e9}, 3e9),
    ],
)
def test_models_have_what_is_not_kept_for_batches(given: dict[str, Any], model_bytes: float) -> None:
    assert PoolConfig(**given).model_bytes == model_bytes


def test_some_memory_is_for_models() -> None:
    with pytest.raises(ValidationError, match="batch_bytes is 5000000000 and memory_bytes 5000000000, so that nothing"):
        PoolConfig(memory_bytes=5e9, batch_bytes=5e9)
