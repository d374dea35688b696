"""How much time admission keeps in hand under contention."""

BEGIN = 0.85
LEAST, MOST = 0.4, 1.0

STEP = 0.002
"""What one late query takes away, near enough; one in time gives the allowed share of that back."""


class Headroom:
    """The share of a query's time that admission plans with.

    It settles where ``late_share`` of what was let in under contention is late, whatever estimates lack, as in the
    stochastic approximation of a quantile (Robbins and Monro, 1951).
    """

    def __init__(self, late_share: float) -> None:
        self.late_share = late_share
        self.share = BEGIN

    def on_batch(self, queries: int, late: int) -> None:
        """A batch came back under contention, ``late`` of its queries after their deadlines."""
        self.share = min(MOST, max(LEAST, self.share + STEP * (self.late_share * queries - late)))
