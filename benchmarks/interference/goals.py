"""What the figures should be."""

from typing import Any

MAE, MAE_OF_SPREAD = 0.05, 0.10
"""One of them: mean absolute error of slowdown, or the same as a share of the spread."""

TIMES_BETTER_THAN_MEAN = 3.0
OF_LEAST_LOADED = 0.5
OVER_ORACLE = 1.2
SAVING_PCT = 30.0


def goals(figures: dict[str, Any]) -> dict[str, bool]:
    """By goal whether it is met; placements that could not be studied are a goal missed."""
    error, placement, saving = figures["unified_mae"], figures["placement"], figures["active_saving_pct"]
    studied = placement["oracle"] is not None
    return {
        "error": bool(error < MAE or error < MAE_OF_SPREAD * figures["spread"]),
        "better_than_mean": bool(error * TIMES_BETTER_THAN_MEAN <= figures["mean_mae"]),
        "below_least_loaded": studied
        and placement["interference_aware"] <= _times(OF_LEAST_LOADED, placement["least_loaded"]),
        "near_oracle": studied and placement["interference_aware"] <= _times(OVER_ORACLE, placement["oracle"]),
        "fewer_measurements": saving is not None and saving >= SAVING_PCT,
    }


def _times(share: float, added_s: float) -> float:
    """What is added, more or less by a part of it. Where runs together were measured to be shorter than alone, by
    noise, it is negative, and more is nearer to 0."""
    return added_s + (share - 1.0) * abs(added_s)
