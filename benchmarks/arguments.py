"""Kinds of arguments that several benchmarks take, for argparse: what is wrong is said before anything is computed."""

from argparse import ArgumentTypeError
from math import inf, nan
from pathlib import Path

from matplotlib.backend_bases import FigureCanvasBase


def positive(text: str) -> float:
    """A number above 0; raises `ArgumentTypeError` for anything else."""
    value = _number(text)
    if not 0.0 < value < inf:
        raise ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def at_least_0(text: str) -> float:
    """A finite number from 0; raises `ArgumentTypeError` for anything else."""
    value = _number(text)
    if not 0.0 <= value < inf:
        raise ArgumentTypeError(f"{text!r} is no number of at least 0")
    return value


def whole(text: str) -> int:
    """A whole number above 0; raises `ArgumentTypeError` for anything else."""
    value = positive(text)
    if value != int(value):
        raise ArgumentTypeError(f"{text!r} is no whole number")
    return int(value)


def seed(text: str) -> int:
    """A whole number from 0, as random generators take it; raises `ArgumentTypeError` for anything else."""
    value = at_least_0(text)
    if value != int(value):
        raise ArgumentTypeError(f"{text!r} is no whole number")
    return int(value)


def picture_file(text: str) -> Path:
    """A file to draw into, whose folder is made: a picture comes last, and figures would be lost for want of one.

    Raises `ArgumentTypeError` for a file that cannot be drawn into.
    """
    path = Path(text)
    if path.suffix and path.suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
        raise ArgumentTypeError(f"{text!r} ends in {path.suffix}, which is no kind of picture; end it in .png")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentTypeError(
            f"cannot make a folder for {text!r}: {error.strerror}; name a file in another"
        ) from error
    if path.is_dir():
        raise ArgumentTypeError(f"{text!r} is a folder; name a file in it")
    return path


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan
