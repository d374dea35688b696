"""Values as they stand in a table."""

from collections.abc import Mapping
from typing import Any


def cell(value: Any) -> str:
    """A value in words, fractions with one digit; a dash for None."""
    if value is None:
        return "-"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def percent(ratio: float | None, digits: int = 1) -> str:
    """A ratio (0 to 1) in percent; a dash for None."""
    return "-" if ratio is None else f"{100 * ratio:.{digits}f}%"


def slowdown(factor: float | None) -> str:
    """How many times longer than alone; a dash for None."""
    return "-" if factor is None else f"{factor:.2f}"


def marked(variant: str, emulated: bool | None) -> str:
    """The name of a variant, with a mark where it is emulated."""
    return f"{variant} *" if emulated else variant


def origin(variant: Mapping[str, Any]) -> str:
    """Where an accuracy comes from; where it was measured, half the width of its 95% interval in points."""
    measured = variant.get("measured")
    if not measured:
        return cell(variant.get("accuracy_source"))
    return f"measured ±{50 * (measured['high'] - measured['low']):.1f}"
