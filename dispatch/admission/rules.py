"""What an endpoint says about queries that cannot be met."""

from dataclasses import dataclass


@dataclass(frozen=True)
class AdmissionRules:
    """Refuse at arrival what even the fastest variant cannot meet.

    Under contention admission keeps so much time in hand that ``in_time_share`` of what it lets in is answered by its
    deadline.
    """

    in_time_share: float = 0.98
