"""The check digit finds what it is said to find."""

from itertools import product

import numpy as np

from catalog.zoo.strips.damm import TABLE, state_after, states_after


def test_every_row_and_column_has_each_state_once_and_the_diagonal_is_0() -> None:
    assert np.array_equal(np.sort(TABLE, axis=0), np.tile(np.arange(10)[:, None], 10))
    assert np.array_equal(np.sort(TABLE, axis=1), np.tile(np.arange(10), (10, 1)))
    assert not TABLE.diagonal().any()


def test_the_check_digit_of_a_known_number() -> None:
    assert state_after([5, 7, 2]) == 4
    assert state_after([5, 7, 2, 4]) == 0


def test_every_wrong_digit_and_every_swap_of_neighbours_is_found() -> None:
    for payload in product(range(10), repeat=3):
        number = [*payload, state_after(payload)]
        for place in range(4):
            for digit in range(10):
                changed = [*number[:place], digit, *number[place + 1 :]]
                assert (state_after(changed) == 0) == (changed == number)
        for place in range(3):
            swapped = [*number[:place], number[place + 1], number[place], *number[place + 2 :]]
            assert (state_after(swapped) == 0) == (swapped == number)


def test_many_numbers_of_different_lengths_at_once() -> None:
    rng = np.random.default_rng(1)
    digits, lengths = rng.integers(0, 10, (50, 6)), rng.integers(0, 7, 50)
    digits[np.arange(6) >= lengths[:, None]] = -1
    one_by_one = [state_after(row[:length]) for row, length in zip(digits, lengths, strict=True)]
    assert states_after(digits, lengths).tolist() == one_by_one
