"""Whether an answer is right, where labels may be numbers or names."""

from collections.abc import Sequence

from serve_app.loadgen.dataset import Label


def same_class(true: Label, answered: Label, classes: Sequence[str] = ()) -> bool:
    """Whether two labels mean the same class. A number stands for the one of ``classes`` at that index; where these are
    unknown, or have no such name, for its digits."""
    if isinstance(true, str) == isinstance(answered, str):
        return true == answered
    number, name = (answered, true) if isinstance(true, str) else (true, answered)
    if name not in classes:
        return str(number) == name
    return isinstance(number, int) and 0 <= number < len(classes) and classes[number] == name
