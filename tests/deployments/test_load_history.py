"""Queries per second and endpoint, hour by hour."""

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.observation import Statistics
from deployments.load_history import HOUR_S, KEPT_HOURS, LoadHistory

HOUR = 500_000 * HOUR_S


def window(start_s: float, **arrived: int) -> Statistics:
    return Statistics(start_s, start_s + 0.5, arrived, {})


def test_windows_count_in_the_second_in_which_they_began() -> None:
    history = LoadHistory()
    for each in (window(HOUR + 7.0, a=2), window(HOUR + 7.5, a=3, b=1), window(HOUR + 8.0, a=4)):
        history.add(each)
    [(name, document)] = history.take_documents().items()
    assert name == LoadHistory.document(HOUR) == LoadHistory.document(HOUR + HOUR_S - 0.1)
    assert document["a"][6:10] == [0, 5, 4, 0]
    assert document["b"][6:10] == [0, 1, 0, 0]
    assert {len(counts) for counts in document.values()} == {HOUR_S}


@given(
    st.lists(st.tuples(st.integers(0, 4 * HOUR_S - 1), st.integers(0, 9), st.booleans(), st.booleans()), max_size=30)
)
def test_nothing_is_lost_that_comes_within_the_hour_after_whoever_writes_it(
    events: list[tuple[int, int, bool, bool]],
) -> None:
    """``second`` may be before what came last, but not by an hour; in between documents are written, and taken over."""
    history, written, seen = LoadHistory(), dict[str, str](), Counter[int]()
    newest = 0
    for second, queries, save, replace in events:
        if second // HOUR_S < newest // HOUR_S - 1:
            continue
        newest = max(newest, second)
        history.add(window(HOUR + second, a=queries))
        seen[second] += queries
        if save or replace:
            written |= {name: json.dumps(document) for name, document in history.take_documents().items()}
        if replace:
            history = LoadHistory()
            for at_s in (HOUR + newest - HOUR_S, HOUR + newest):
                if LoadHistory.document(at_s) in written:
                    history.restore(json.loads(written[LoadHistory.document(at_s)]), at_s)
    written |= {name: json.dumps(document) for name, document in history.take_documents().items()}
    for second, queries in seen.items():
        document = json.loads(written[LoadHistory.document(HOUR + second)])
        assert document["a"][second % HOUR_S] == queries


def test_what_is_taken_does_not_change_any_more() -> None:
    history = LoadHistory()
    history.add(window(HOUR, a=1))
    taken = history.take_documents()
    history.add(window(HOUR, a=1))
    assert taken[LoadHistory.document(HOUR)]["a"][0] == 1


def test_documents_are_in_the_order_of_time_and_outdated_after_four_weeks() -> None:
    instants = [HOUR - KEPT_HOURS * HOUR_S - 1, HOUR - KEPT_HOURS * HOUR_S, HOUR - 1, HOUR]
    names = [LoadHistory.document(at_s) for at_s in instants]
    assert names == sorted(names)
    assert LoadHistory.outdated(names, HOUR) == names[:1]
