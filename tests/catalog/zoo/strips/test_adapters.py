"""Digits are cut, collected and written strip by strip."""

import numpy as np
import pytest

from catalog.adapter import Adapter
from catalog.catalogue import load_catalogue
from catalog.zoo.strips.adapters import collect, crop, number
from catalog.zoo.strips.layout import CHECK, FIND, HEIGHT, MAX_DIGITS, READ, WIDTH


def starting(*columns: list[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Scores of 0.9 at the columns of each strip, and of 0.4 in the last."""
    starts = np.zeros((len(columns), WIDTH), dtype=np.float32)
    starts[:, -1] = 0.4
    for row, chosen in enumerate(columns):
        starts[row, chosen] = 0.9
    return starts


def strips(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Every pixel has another value than those beside it, and no pixel is 0."""
    return np.random.default_rng(1).integers(1, 17, (count, HEIGHT, WIDTH)).astype(np.uint8)


def test_a_digit_alone_is_cut_with_two_columns_on_either_side() -> None:
    image = strips(1)
    cut = crop(image=image, starts=starting([40]))["image"]
    assert cut.dtype == np.float32
    assert np.array_equal(cut, image[:, :, 38:50])


def test_several_strips_are_cut_one_after_the_other() -> None:
    image = strips(4)
    cut = crop(image=image, starts=starting([10, 60], [], [2, 30, 90], [118]))["image"]
    wanted = [(0, 10), (0, 60), (2, 2), (2, 30), (2, 90), (3, 118)]
    assert np.array_equal(cut, np.stack([image[row, :, column - 2 : column + 10] for row, column in wanted]))


def test_what_is_closer_to_a_neighbour_is_left_empty() -> None:
    image = strips(1)
    cut = crop(image=image, starts=starting([20, 28, 36, 45]))["image"]
    own = [range(10), range(2, 10), range(2, 11), range(2, 12)]
    shown = [range(18, 28), range(28, 36), range(36, 45), range(45, 55)]
    for one, columns, places in zip(cut, shown, own, strict=True):
        assert np.array_equal(one[:, places], image[0][:, columns])
        assert not np.delete(one, places, axis=1).any()


def test_a_neighbour_on_another_strip_takes_nothing_away() -> None:
    image = strips(2)
    cut = crop(image=image, starts=starting([20], [24]))["image"]
    assert np.array_equal(cut, np.stack([image[0, :, 18:30], image[1, :, 22:34]]))


def test_beside_the_strip_there_is_nothing() -> None:
    image = strips(1)
    cut = crop(image=image, starts=starting([0, WIDTH - 4]))["image"]
    assert not cut[0, :, :2].any()
    assert np.array_equal(cut[0, :, 2:], image[0, :, :10])
    assert np.array_equal(cut[1, :, :6], image[0, :, -6:])
    assert not cut[1, :, 6:].any()


def test_inputs_are_left_as_they_were() -> None:
    image, starts = strips(2), starting([20, 27], [24])
    before = image.copy(), starts.copy()
    crop(image=image, starts=starts)
    assert np.array_equal(image, before[0])
    assert np.array_equal(starts, before[1])


def test_strips_without_digits_give_no_rows_and_numbers_without_digits() -> None:
    starts = starting([], [])
    cut = crop(image=strips(2), starts=starts)["image"]
    assert cut.shape == (0, HEIGHT, HEIGHT)
    collected = collect(starts=starts, probabilities=np.zeros((0, 10), dtype=np.float32))
    assert collected["probabilities"].shape == (2, MAX_DIGITS, 10)
    assert not collected["probabilities"].any()
    assert collected["length"].tolist() == [0, 0]


def test_no_strips_at_all() -> None:
    starts = starting()
    assert crop(image=strips(0), starts=starts)["image"].shape == (0, HEIGHT, HEIGHT)
    collected = collect(starts=starts, probabilities=np.zeros((0, 10), dtype=np.float32))
    assert collected["probabilities"].shape == (0, MAX_DIGITS, 10)
    assert collected["length"].shape == (0,)


def test_what_was_read_is_collected_by_strip_in_the_order_of_the_cuts() -> None:
    starts = starting([10, 60], [], [2, 30, 90])
    probabilities = np.random.default_rng(2).dirichlet(np.ones(10), 5).astype(np.float32)
    collected = collect(starts=starts, probabilities=probabilities)
    assert collected["length"].tolist() == [2, 0, 3]
    assert collected["length"].dtype == np.int64
    assert np.array_equal(collected["probabilities"][0, :2], probabilities[:2])
    assert np.array_equal(collected["probabilities"][2, :3], probabilities[2:])
    assert not collected["probabilities"][0, 2:].any()
    assert not collected["probabilities"][1].any()


def test_of_more_than_nine_digits_the_first_nine_are_cut_and_collected() -> None:
    image, starts = strips(2), starting(list(range(0, 110, 10)), [50])
    cut = crop(image=image, starts=starts)["image"]
    assert len(cut) == 10
    probabilities = np.random.default_rng(3).dirichlet(np.ones(10), 10).astype(np.float32)
    collected = collect(starts=starts, probabilities=probabilities)
    assert collected["length"].tolist() == [9, 1]
    assert np.array_equal(collected["probabilities"][1, 0], probabilities[9])


def test_another_number_of_readings_than_digits_is_refused() -> None:
    with pytest.raises(ValueError, match="3 digits were read and 2 found"):
        collect(starts=starting([10, 60]), probabilities=np.zeros((3, 10), dtype=np.float32))


def test_numbers_are_written_without_what_is_behind_their_last_digit() -> None:
    digits = np.array([[0, 1, 2, 3, *[-1] * 5], [9] * 9, [-1] * 9])
    written = number(digits=digits, valid=np.array([True, False, False]))
    assert written["label"].tolist() == ["0123", "999999999", ""]
    assert written["label"].dtype == object
    assert written["valid"].tolist() == [True, False, False]


def test_adapters_take_and_give_what_the_stages_do() -> None:
    catalogue = load_catalogue("builtin")
    find, read, check = (catalogue.of_task(task)[0] for task in (FIND, READ, CHECK))
    assert isinstance(crop, Adapter)
    assert crop.inputs == (*find.inputs, *find.outputs)
    assert crop.outputs == read.inputs
    assert collect.inputs == (*find.outputs, read.outputs[1])
    assert collect.outputs == check.inputs
    assert number.inputs == check.outputs
