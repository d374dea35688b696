"""Queries per second and endpoint, hour by hour."""

import json
from collections import Counter
from typing import Any

import pytest
from controller_parts import DictStore
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.cluster.observation import Statistics
from deployments.state.load_history import HOUR_S, KEPT_HOURS, LoadHistory, hours_kept, kept_series
from deployments.state.saved_state import write_all

HOUR = 500_000 * HOUR_S


def window(start_s: float, **arrived: int) -> Statistics:
    return Statistics(start_s, start_s + 0.5, arrived, {})


def test_windows_count_in_the_second_in_which_they_began() -> None:
    history = LoadHistory()
    for each in (window(HOUR + 7.0, a=2), window(HOUR + 7.5, a=3, b=1), window(HOUR + 8.0, a=4)):
        history.add(each)
    [(name, document)] = history.take_documents().items()
    assert name == LoadHistory.document(HOUR) == LoadHistory.document(HOUR + HOUR_S - 0.1)
    assert document["a"][6:10] == [None, 5, 4, None]
    assert document["b"][6:10] == [None, 1, None, None]
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


def test_seconds_without_a_query_are_told_from_those_that_nobody_observed() -> None:
    history = LoadHistory(["a", "b"])
    for each in (window(HOUR + 7.0, a=2), window(HOUR + 8.0), window(HOUR + 10.0, b=1)):
        history.add(each)
    [document] = json.loads(json.dumps(list(history.take_documents().values())))
    assert document["a"][6:12] == [None, 2, 0, None, 0, None]
    assert document["b"][6:12] == [None, 0, 0, None, 1, None]


def test_documents_are_read_as_one_series_with_gaps_left_out() -> None:
    store, history = DictStore(), LoadHistory(["a"])
    for second in (-2, -1, 0, 3):
        history.add(window(HOUR + second, a=10 + second))
    write_all(store, history.take_documents())
    series = kept_series(store, HOUR - 2, HOUR + 100)["a"]
    assert (series.times_s - HOUR).tolist() == [-2, -1, 0, 3]
    assert series.loads_qps.tolist() == [8, 9, 10, 13]
    assert (kept_series(store, HOUR - 1, HOUR + 3)["a"].times_s - HOUR).tolist() == [-1, 0]
    assert kept_series(store, HOUR + 4, HOUR + 100) == {}
    assert history.series(HOUR + 3)["a"].loads_qps.tolist() == [8, 9, 10]


def test_documents_of_old_are_read_and_those_that_are_damaged_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    store = DictStore()
    store.write(LoadHistory.document(HOUR), {"a": [0, 5] + [0] * (HOUR_S - 2)})
    for hour, damaged in enumerate([3, {"a": [1, 2]}, {"a": [-1] * HOUR_S}, {"a": ["x"] * HOUR_S}], 1):
        store.write(LoadHistory.document(HOUR + hour * HOUR_S), damaged)
    series = kept_series(store, HOUR, HOUR + 10 * HOUR_S)["a"]
    assert len(series) == HOUR_S
    assert series.loads_qps[:3].tolist() == [0, 5, 0]
    assert sum("is left out" in record.message for record in caplog.records) == 4


@pytest.mark.parametrize("counts", [[1, 2], [-1] * HOUR_S, ["x"] * HOUR_S, 3])
def test_a_damaged_document_is_refused_and_the_hour_begins_anew(counts: Any) -> None:
    history = LoadHistory()
    with pytest.raises((TypeError, ValueError)):
        history.restore({"b": [None] * HOUR_S, "a": counts}, HOUR)
    history.add(window(HOUR + 3000.0, a=2))
    assert history.take_documents()[LoadHistory.document(HOUR)]["a"][2999:3001] == [None, 2]


def test_hours_are_counted_without_the_one_under_way() -> None:
    store = DictStore()
    assert hours_kept(store, HOUR) == 0
    for hour in range(5):
        store.write(LoadHistory.document(HOUR + hour * HOUR_S), {})
    assert hours_kept(store, HOUR) == 4
    assert hours_kept(store, HOUR + 2 * HOUR_S) == 2


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


def test_a_clock_that_was_ahead_once_costs_no_hour_of_those_after_it() -> None:
    history, written = LoadHistory(), dict[str, dict[str, list[int | None]]]()
    history.add(window(HOUR + 1.0, a=1))
    history.add(window(HOUR + 3 * HOUR_S, a=9))
    for second in (2.0, 3.0, 4.0):
        written |= history.take_documents()
        history.add(window(HOUR + second, a=1))
    written |= history.take_documents()
    assert written[LoadHistory.document(HOUR)]["a"][:6] == [None, 1, 1, 1, 1, None]
