"""A strip is found or read only if all of it is."""

import numpy as np
import pytest

from catalog.zoo.strips.layout import WIDTH
from catalog.zoo.strips.measures import found_share, measured_strips, number_share, true_starts
from catalog.zoo.strips.strips import sample_strips

_STRIPS = sample_strips("dev", 4, 1)


def test_true_starts_are_found_and_nothing_is_without_them() -> None:
    assert found_share(_STRIPS, true_starts(_STRIPS)) == 1.0
    assert found_share(_STRIPS, np.zeros((4, WIDTH), dtype=np.float32)) == 0.0


@pytest.mark.parametrize(("aside_px", "share"), [(1, 1.0), (2, 1.0), (-2, 1.0), (3, 0.0), (-3, 0.0)])
def test_two_columns_aside_still_count(aside_px: int, share: float) -> None:
    assert found_share(_STRIPS, np.roll(true_starts(_STRIPS), aside_px, axis=1)) == share


def test_a_strip_with_a_digit_too_many_or_too_few_does_not_count() -> None:
    starts = true_starts(_STRIPS)
    starts[0, _STRIPS.starts[0, 1]] = 0.0
    starts[1, 0] = 0.6
    starts[2, 0] = 0.4
    assert found_share(_STRIPS, starts) == 0.5


def test_a_number_counts_if_every_digit_is_right_and_none_is_added() -> None:
    digits = _STRIPS.digits.copy()
    assert number_share(_STRIPS, digits) == 1.0
    digits[0, 0] = (digits[0, 0] + 1) % 10
    digits[1, _STRIPS.lengths[1] - 1] = -1
    assert number_share(_STRIPS, digits) == 0.5


def test_measured_strips_are_the_same_on_every_call() -> None:
    first, again = measured_strips("test"), measured_strips("test")
    assert len(first.images) == 1000
    assert np.array_equal(first.images, again.images)
    assert len({measured_strips(split).images.tobytes() for split in ("train", "dev", "test")}) == 3
