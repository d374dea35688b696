"""When something changes in a case, and which of its seconds count."""

from dataclasses import dataclass

from benchmarks.promise.cases.conditions import Condition

SETTLING_S = 5.0
"""So long after a change violations do not count."""

BEFORE_CHANGE_S = 8.0
"""How long a case goes on before something changes in its middle."""


@dataclass(frozen=True)
class Timeline:
    """Seconds from the first query.

    ``change_s`` is what recovery is measured from; 0 is the step of the load itself.
    """

    duration_s: float
    change_s: float
    judged_s: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, condition: Condition, seconds: float) -> "Timeline":
        """``seconds`` is the length of a case with an even load, or of what follows a change in mid-run.

        A burst is part of the load that is promised for: all of it counts from `SETTLING_S` on.
        """
        if condition.slower > 1.0:
            duration_s = BEFORE_CHANGE_S + seconds
            spans_s = ((SETTLING_S, BEFORE_CHANGE_S), (BEFORE_CHANGE_S + SETTLING_S, duration_s))
            return cls(duration_s, BEFORE_CHANGE_S, spans_s)
        duration_s = BEFORE_CHANGE_S + seconds if condition.bursts else seconds
        return cls(duration_s, 0.0, ((SETTLING_S, duration_s),))
