"""Labels by number and by name."""

import pytest

from serve_app.loadgen.same_class import same_class


@pytest.mark.parametrize(
    ("true", "answered", "classes", "same"),
    [
        (3, 3, (), True),
        (3, 4, (), False),
        ("cat", "cat", (), True),
        ("cat", 1, ("dog", "cat"), True),
        (1, "cat", ("dog", "cat"), True),
        ("cat", 0, ("dog", "cat"), False),
        ("cat", 7, ("dog", "cat"), False),
        ("cat", -1, ("dog", "cat"), False),
        ("3", 2, ("1", "2", "3"), True),
        ("3", 3, ("1", "2", "3"), False),
        ("3", 3, (), True),
        ("cat", 1, (), False),
        ("1", 1, ("dog", "cat"), True),
        ("0", 1, ("dog", "cat"), False),
    ],
)
def test_a_number_stands_for_the_name_at_that_index(
    true: int | str, answered: int | str, classes: tuple[str, ...], same: bool
) -> None:
    assert same_class(true, answered, classes) is same
