"""What is done again and again ends with its block, and a failure of it is seen."""

import threading

import pytest

from serve_app.testing.repeatedly import Repeatedly


class Failing:
    """An action that raises the second time; ``done`` counts calls."""

    def __init__(self) -> None:
        self.done = 0
        self.failed = threading.Event()

    def __call__(self) -> None:
        self.done += 1
        if self.done == 2:
            self.failed.set()
            raise KeyError("workers")


def test_an_action_that_raises_is_the_last_one_and_is_told_at_the_end() -> None:
    action = Failing()
    with pytest.raises(KeyError, match="workers"), Repeatedly(action, 0.001):
        assert action.failed.wait(30)
    assert action.done == 2


def test_an_exception_of_the_block_goes_first() -> None:
    action = Failing()
    with pytest.raises(ValueError, match="of the block"), Repeatedly(action, 0.001):
        raise ValueError(f"of the block {action.failed.wait(30)}")
