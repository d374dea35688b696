"""Checkers answer as their docstrings say: brute force over all numbers is the oracle."""

from itertools import product

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.tensor import Arrays
from catalog.zoo.strips.checkers import GRAPHS
from catalog.zoo.strips.damm import states_after
from catalog.zoo.strips.layout import MAX_DIGITS

_SESSIONS = {
    name: onnxruntime.InferenceSession(graph().SerializeToString(), providers=["CPUExecutionProvider"])
    for name, graph in GRAPHS.items()
}
_NUMBERS = {length: np.array(list(product(range(10), repeat=length))) for length in (1, 2, 3, 4)}
_EVERY = pytest.mark.parametrize("name", GRAPHS)


def readings(seed: int, lengths: list[int], sureness: float = 0.3) -> Arrays:
    """Random probabilities of numbers of the given lengths; small ``sureness`` makes them sure."""
    probabilities = np.random.default_rng(seed).dirichlet(np.full(10, sureness), (len(lengths), MAX_DIGITS))
    length = np.array(lengths, dtype=np.int64)
    probabilities[np.arange(MAX_DIGITS) >= length[:, None]] = 0.0
    return {"probabilities": probabilities.astype(np.float32), "length": length}


def checked(name: str, given: Arrays) -> tuple[Arrays, Arrays]:
    digits, valid = _SESSIONS[f"strip-check-{name}"].run(["digits", "valid"], given)
    return digits, valid


def log_probability(given: Arrays, row: int, digits: Arrays) -> Arrays:
    """Of numbers [K, D] of one row: [K]."""
    logs = np.log(np.maximum(given["probabilities"][row].astype(np.float64), 1e-12))
    return logs[np.arange(digits.shape[1]), digits].sum(axis=1)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32 - 1), st.lists(st.integers(1, 4), min_size=1, max_size=6), st.sampled_from((0.05, 0.3, 5.0))
)
def test_the_exact_checker_finds_the_likeliest_of_all_valid_numbers(
    seed: int, lengths: list[int], sureness: float
) -> None:
    asked = readings(seed, lengths, sureness)
    digits, valid = checked("exact", asked)
    assert valid.all()
    for row, length in enumerate(lengths):
        numbers = _NUMBERS[length]
        numbers = numbers[states_after(numbers, np.full(len(numbers), length)) == 0]
        best = log_probability(asked, row, numbers).max()
        found = digits[row : row + 1, :length]
        assert states_after(found, np.array([length])) == 0
        assert log_probability(asked, row, found)[0] == pytest.approx(best, abs=1e-3)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_the_single_checker_makes_the_best_one_change(seed: int, lengths: list[int]) -> None:
    asked = readings(seed, lengths)
    digits, valid = checked("single", asked)
    assert valid.all()
    likeliest = asked["probabilities"].argmax(axis=2)
    for row, length in enumerate(lengths):
        tried = np.tile(likeliest[row, :length], (length * 10, 1))
        tried[np.arange(length * 10), np.arange(length).repeat(10)] = np.tile(np.arange(10), length)
        tried = tried[states_after(tried, np.full(len(tried), length)) == 0]
        found = digits[row : row + 1, :length]
        assert states_after(found, np.array([length])) == 0
        best = log_probability(asked, row, tried).max()
        assert log_probability(asked, row, found)[0] == pytest.approx(best, abs=1e-3)


def test_the_argmax_checker_takes_the_likeliest_digits_and_says_whether_they_are_valid() -> None:
    asked = readings(3, [4, 5, 9, 1] * 25)
    digits, valid = checked("argmax", asked)
    present = np.arange(MAX_DIGITS) < asked["length"][:, None]
    assert np.array_equal(digits, np.where(present, asked["probabilities"].argmax(axis=2), -1))
    assert np.array_equal(valid, states_after(digits, asked["length"]) == 0)
    assert 0 < valid.sum() < len(valid)


@_EVERY
def test_a_valid_number_that_was_read_surely_stays(name: str) -> None:
    probabilities = np.zeros((1, MAX_DIGITS, 10), dtype=np.float32)
    probabilities[0, np.arange(4), [5, 7, 2, 4]] = 1.0
    digits, valid = checked(
        name.removeprefix("strip-check-"), {"probabilities": probabilities, "length": np.array([4])}
    )
    assert digits.tolist() == [[5, 7, 2, 4, -1, -1, -1, -1, -1]]
    assert valid.tolist() == [True]


@_EVERY
def test_a_number_without_digits_is_not_valid(name: str) -> None:
    digits, valid = checked(name.removeprefix("strip-check-"), readings(4, [0, 3]))
    assert digits[0].tolist() == [-1] * MAX_DIGITS
    assert valid.tolist()[0] is False


@_EVERY
def test_an_answer_does_not_depend_on_the_rest_of_the_batch(name: str) -> None:
    asked = readings(5, [4, 9, 6, 0, 7])
    together = checked(name.removeprefix("strip-check-"), asked)[0]
    alone = [
        checked(name.removeprefix("strip-check-"), {key: array[row : row + 1] for key, array in asked.items()})[0][0]
        for row in range(5)
    ]
    assert np.array_equal(together, np.array(alone))
