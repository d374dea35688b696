"""A number that counts once it has lasted."""

SETTLED_S = 5.0
"""Workers come one by one, one that died is soon replaced, and clients take turns: tables are made for what lasts."""


class Settled:
    """``value`` is the last number that was seen for `SETTLED_S`, and the first one at once; 0 before there is one."""

    def __init__(self) -> None:
        self.value = 0
        self._seen = 0
        self._since_s = 0.0

    def see(self, number: int, now_s: float) -> int:
        """The number is this now, 0 where there is none; gives ``value``."""
        if number != self._seen:
            self._seen, self._since_s = number, now_s
        if number and (not self.value or now_s - self._since_s >= SETTLED_S):
            self.value = number
        return self.value
