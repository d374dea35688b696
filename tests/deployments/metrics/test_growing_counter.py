"""A counter of Ray that follows totals, by tags."""

from collections.abc import Mapping

import pytest

from deployments.metrics import growing_counter
from deployments.metrics.growing_counter import GrowingCounter

told: list[tuple[str, float]] = []


class Metric:
    """In place of Ray's counter, which refuses to be raised by nothing as well."""

    def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
        assert (name, description, tag_keys) == ("counted", "Something.", ("endpoint",))

    def inc(self, value: float, tags: Mapping[str, str]) -> None:
        assert value > 0
        told.append((tags["endpoint"], value))


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> GrowingCounter:
    monkeypatch.setattr(growing_counter.metrics, "Counter", Metric)
    told.clear()
    return GrowingCounter("counted", "Something.", ("endpoint",))


def test_a_series_is_there_before_anything_is_counted_and_its_counts_are_whole(counter: GrowingCounter) -> None:
    for total in (0, 0, 3, 3, 4):
        counter.follow(total, {"endpoint": "digits"})
    assert told == [("digits", pytest.approx(0.0)), ("digits", 3), ("digits", 1)]
    assert sum(value for _, value in told) == 4, "what it began with is lost by rounding"


def test_one_that_is_first_seen_with_a_count_begins_with_it(counter: GrowingCounter) -> None:
    counter.follow(2, {"endpoint": "digits"})
    counter.follow(0, {"endpoint": "words"})
    assert told == [("digits", 2), ("words", pytest.approx(0.0))]
