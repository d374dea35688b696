"""Who makes room for whom where not everybody can be let in."""

import pytest
from admission_scene import RULES, busy, error_of, let_in

from catalog.errors import BadRequest, Displaced, Saturated
from dispatch.selection.fixed import FixedSelection
from dispatch_scene import query, rejected
from ensemble_scene import asking, of_three

NORMAL, URGENT, BACKGROUND = 2, 1, 3


def test_a_query_of_higher_priority_takes_the_place_of_a_lower_one() -> None:
    d = busy()
    let_in(d, 10, 90, 0.001, priority=BACKGROUND)
    waiting = d.queues.rows("digits")
    commands = d.on_arrival(query(200, 0.001, priority=NORMAL), 0.001)
    ((displaced, kind),) = rejected(commands).items()
    assert kind is Displaced
    assert 10 <= displaced < 100
    assert d.queues.rows("digits") == waiting
    assert error_of(commands).code == "evicted-priority"


def test_the_lowest_priority_goes_first() -> None:
    d = busy()
    for number, priority in enumerate([URGENT, NORMAL, 7, BACKGROUND] * 20, start=10):
        d.on_arrival(query(number, 0.001, priority=priority), 0.001)
    lanes = d.workers["w0"].lanes.values()
    held = [job.query.priority for lane in lanes for job in lane.queue]
    assert held.count(7) == 0 or held.count(NORMAL) == 20
    assert held.count(URGENT) == 20


def test_equals_and_lower_ones_displace_nobody() -> None:
    d = busy()
    let_in(d, 10, 90, 0.001)
    for number, priority in ((200, NORMAL), (201, BACKGROUND)):
        assert list(rejected(d.on_arrival(query(number, 0.001, priority=priority), 0.001))) == [number]


def test_a_full_queue_has_room_for_a_higher_priority() -> None:
    d = busy(max_queued_rows=5)
    let_in(d, 10, 5, 0.001, priority=BACKGROUND)
    assert rejected(d.on_arrival(query(20, 0.001, priority=BACKGROUND), 0.001)) == {20: Saturated}
    assert list(rejected(d.on_arrival(query(21, 0.001), 0.001)).values()) == [Displaced]
    assert d.queues.rows("digits") == 5


@pytest.mark.parametrize("most", [40, 42, 44])
def test_where_it_would_be_late_behind_a_full_queue_as_many_make_room_as_both_need(most: int) -> None:
    d = busy(max_queued_rows=most)
    assert let_in(d, 10, 90, 0.001, priority=BACKGROUND)[0] == most
    commands = d.on_arrival(query(200, 0.001, rows=8, priority=URGENT), 0.001)
    assert list(rejected(commands).values()) == [Displaced] * 8, "fewer would be enough for it to be in time"
    assert d.queues.rows("digits") == most


def test_the_lowest_priority_of_all_workers_queues_goes_first_where_the_queue_is_full() -> None:
    d = busy(max_queued_rows=4, workers=2)
    for number, priority in enumerate([BACKGROUND, 7, BACKGROUND, 8], start=10):
        d.on_arrival(query(number, 0.001, priority=priority), 0.001)
    assert rejected(d.on_arrival(query(20, 0.001, rows=2), 0.001)) == {13: Displaced, 11: Displaced}


@pytest.mark.parametrize("bound", [6, 7, 8, 9])
def test_a_query_that_is_voted_on_gets_room_for_all_of_its_members(bound: int) -> None:
    d, flow, _ = of_three(admission=RULES, max_queued_rows=bound)
    for number in range(1, 6):  # one runs
        d.on_arrival(asking(number)._replace(priority=BACKGROUND), 0.0)
    waiting = d.queues.rows("e")
    commands = d.on_arrival(asking(20)._replace(priority=URGENT), 0.0)
    assert 20 not in rejected(commands)
    assert waiting <= d.queues.rows("e") <= bound
    assert len(flow.withdraw(asking(20))) == 3


def test_nobody_is_displaced_for_a_query_for_whose_members_there_is_too_little_room() -> None:
    d, _, _ = of_three(admission=RULES, max_queued_rows=6)
    for number, priority in enumerate([NORMAL, URGENT, BACKGROUND], start=1):  # the first runs
        d.on_arrival(asking(number)._replace(priority=priority), 0.0)
    assert rejected(d.on_arrival(asking(20, rows=2)._replace(priority=NORMAL), 0.0)) == {20: Saturated}
    assert d.queues.rows("e") == 6


def test_a_query_of_more_rows_than_the_queue_ever_holds_displaces_nobody_and_is_refused_for_good() -> None:
    d = busy(max_queued_rows=2)
    let_in(d, 10, 2, 0.001, priority=BACKGROUND)
    assert rejected(d.on_arrival(query(20, 0.001, rows=3, priority=URGENT), 0.001)) == {20: BadRequest}
    assert d.queues.rows("digits") == 2


def test_nobody_is_displaced_in_vain() -> None:
    d = busy(FixedSelection("slow"))
    assert let_in(d, 10, 1, 0.001)[0] == 1
    d.on_arrival(query(20, 0.001, priority=BACKGROUND), 0.001)
    waiting = d.queues.rows("digits")
    commands = d.on_arrival(query(30, 0.001, slo_s=0.03, rows=4, priority=URGENT), 0.001)
    assert list(rejected(commands)) == [30]
    assert d.queues.rows("digits") == waiting


def test_refusals_stay_cheap_where_nobody_lower_is_left_to_make_room() -> None:
    d = busy()
    assert let_in(d, 10, 1, 0.001, priority=BACKGROUND)[0] == 1
    _, commands = let_in(d, 20, 90, 0.001)
    assert rejected(commands)[10] is Displaced
    admission = d.queues.by_name["digits"].admission
    assert admission is not None
    assert admission.surely_refused(0.001, 0.101, 0.001, NORMAL)
    assert not admission.surely_refused(0.001, 0.101, 0.001, URGENT)
