"""Who makes room for whom where not everybody can be let in."""

from admission_scene import busy, error_of, let_in

from catalog.errors import BadRequest, Displaced, Saturated
from dispatch.selection.fixed import FixedSelection
from dispatch_scene import query, rejected

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
