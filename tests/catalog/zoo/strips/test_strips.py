"""The strips: valid numbers where it says they are, of originals that no other split has."""

import numpy as np
import pytest

from catalog.zoo import digits
from catalog.zoo.strips import layout, strips
from catalog.zoo.strips.damm import state_after
from catalog.zoo.strips.strips import SEEDS, Split, sample_strips

_SPLITS: tuple[Split, ...] = ("train", "dev", "test")


def test_digits_are_as_high_and_wide_as_the_task_that_reads_them_takes_them() -> None:
    assert layout.SIDE == digits.SIDE


def test_strips_are_grey_levels_of_whole_numbers() -> None:
    sample = sample_strips("dev", 20, 1)
    assert sample.images.shape == (20, layout.HEIGHT, layout.WIDTH)
    assert sample.images.dtype == np.uint8
    assert (sample.images.min(), sample.images.max()) == (0, 16)


def test_every_number_has_four_to_nine_digits_and_is_valid() -> None:
    numbers = sample_strips("train", 300, 2).numbers
    assert {len(number) for number in numbers} == {4, 5, 6, 7, 8, 9}
    assert all(state_after(map(int, number)) == 0 for number in numbers)


def test_numbers_and_starts_end_where_their_lengths_say() -> None:
    sample = sample_strips("dev", 100, 3)
    assert np.array_equal((sample.digits >= 0).sum(axis=1), sample.lengths)
    assert np.array_equal(sample.digits >= 0, sample.starts >= 0)
    assert [len(number) for number in sample.numbers] == sample.lengths.tolist()


def test_digits_stand_on_the_strip_from_left_to_right_at_least_seven_columns_apart() -> None:
    sample = sample_strips("test", 500, 4)
    inside = sample.starts[sample.starts >= 0]
    assert inside.min() >= layout.MARGIN
    assert inside.max() <= layout.WIDTH - layout.DIGIT_WIDTH - layout.MARGIN
    steps = np.diff(sample.starts, axis=1)[sample.starts[:, 1:] >= 0]
    assert steps.min() == layout.DIGIT_WIDTH - 1, "some boxes overlap by a column"
    assert (steps > layout.DIGIT_WIDTH + 3).any(), "marks stand between some digits"


def test_a_sample_depends_on_its_split_and_seed_only() -> None:
    first, again = sample_strips("dev", 5, 5), sample_strips("dev", 5, 5)
    assert np.array_equal(first.images, again.images)
    assert first.numbers == again.numbers
    assert not np.array_equal(first.images, sample_strips("dev", 5, 6).images)
    assert not np.array_equal(first.images, sample_strips("test", 5, 5).images)
    assert len(set(SEEDS.values())) == 3


@pytest.mark.parametrize("split", _SPLITS)
def test_ink_is_drawn_where_digits_start(split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MAX_MARKS", "_NOISE_STD", "_DOWN_PX", "_RIGHT_PX", "_ROTATION_RAD", "_LOG_SCALE"):
        monkeypatch.setattr(strips, name, 0)
    monkeypatch.setattr(strips, "_GAPS", np.array([0]))
    monkeypatch.setattr(strips, "_DIGIT_INK", (1.0, 1.0))
    sample = sample_strips(split, 20, 7)
    images, truth = digits.originals()
    known = {image.astype(np.uint8).tobytes(): int(label) for image, label in zip(images, truth, strict=True)}
    for image, number, starts in zip(sample.images, sample.numbers, sample.starts, strict=True):
        boxes = [image[layout.MARGIN : -layout.MARGIN, start : start + layout.DIGIT_WIDTH] for start in starts]
        assert [known[box.tobytes()] for box in boxes[: len(number)]] == [int(digit) for digit in number]


def test_no_original_is_drawn_for_two_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    images, truth = digits.originals()
    numbered = np.arange(len(images), dtype=np.float64)[:, None, None] * np.ones_like(images)
    monkeypatch.setattr(digits, "originals", lambda: (numbered, truth))
    labels = np.arange(10).repeat(2000)
    drawn = [set(strips._drawn(labels, split, np.random.default_rng(8))[:, 0, 0]) for split in _SPLITS]
    assert [len(each) for each in drawn] == [1258, 270, 269]
    assert len(set.union(*drawn)) == len(images)
