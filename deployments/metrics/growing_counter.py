"""A counter of Ray that follows a total."""

from collections.abc import Mapping

from ray.serve import metrics


class GrowingCounter:
    """Tags are beside Serve's own; needs a Serve replica around it."""

    def __init__(self, name: str, text: str, tags: tuple[str, ...]) -> None:
        self._counter = metrics.Counter(name, text, tags)
        self._told: dict[tuple[str, ...], float] = {}

    def follow(self, total: float, tags: Mapping[str, str]) -> None:
        """Raise it by what came since the last time; ``total`` never falls."""
        key = tuple(tags.values())
        more = total - self._told.get(key, 0.0)
        if more > 0.0:  # Ray refuses to raise a counter by nothing
            self._counter.inc(more, dict(tags))
            self._told[key] = total
