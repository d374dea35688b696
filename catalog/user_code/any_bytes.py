"""What elements of BYTES may be."""

from collections.abc import Sequence

from catalog.variant import PYTHON, Variant


def take_any_bytes(variants: Sequence[Variant]) -> bool:
    """Whether elements of BYTES may be other than UTF-8: where classes of the user's alone take them, as they come.

    Every other runtime has text in them, and so does whatever has its tokens counted.
    """
    return all(each.runtime == PYTHON and (each.length_rule is None or not each.length_rule.text) for each in variants)
