"""What share of an endpoint's requests a router has the proxy refuse."""

import random
from collections import deque

import pytest

from serve_app.http.in_front.shedding import FORGET_S, HEADER, LEAST_SHARE, STEP_S, FrontShedding


class Offered:
    """An endpoint that bears ``capacity_qps``, behind a proxy that hears ``delay_s`` later what it is to do."""

    def __init__(self, capacity_qps: float, delay_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.shedding = FrontShedding(["digits"], lambda: self.now_s)
        self.capacity_qps = capacity_qps
        self.delay_s = delay_s
        self._on_its_way: deque[tuple[float, float]] = deque()
        self._shed = 0.0
        self._draw = random.Random(1)

    @property
    def told(self) -> float:
        name, value = self.shedding.header("digits", routers=1)
        assert name == HEADER
        return int(value) / 1000

    def play(self, load_qps: float, seconds: float) -> tuple[int, int, int]:
        """Requests that the proxy refused, that the router refused, and that were answered."""
        in_front = at_router = answered = 0
        room = 0.0
        for _ in range(int(load_qps * seconds)):
            self.now_s += 1.0 / load_qps
            room = min(room + self.capacity_qps / load_qps, 8.0)
            while self._on_its_way and self._on_its_way[0][0] <= self.now_s:
                self._shed = self._on_its_way.popleft()[1]
            if self._draw.random() < self._shed:
                in_front += 1
                continue
            refused = room < 1.0
            room -= not refused
            self.shedding.record("digits", refused=refused)
            self._on_its_way.append((self.now_s + self.delay_s, self.told))
            at_router += refused
            answered += not refused
        return in_front, at_router, answered


def test_nothing_is_shed_of_what_can_be_borne() -> None:
    offered = Offered(400.0)
    assert offered.play(350.0, 10.0) == (0, 0, 3500)
    assert offered.told == 0.0


@pytest.mark.parametrize(("capacity_qps", "delay_s"), [(400.0, 0.0), (400.0, 0.06), (4000.0, 0.03), (4000.0, 0.1)])
@pytest.mark.parametrize("times", [1.5, 5.0, 15.0])
def test_the_proxy_refuses_nearly_all_that_is_too_much_and_nothing_else(
    times: float, capacity_qps: float, delay_s: float
) -> None:
    offered = Offered(capacity_qps, delay_s)
    load_qps = capacity_qps * times
    offered.play(load_qps, 3.0)  # finds the share
    in_front, at_router, answered = offered.play(load_qps, 5.0)
    assert answered > 0.95 * capacity_qps * 5.0
    assert at_router < 0.25 * answered
    assert in_front > 0.6 * (load_qps * 5.0 - answered)


def test_all_are_let_through_again_soon_after() -> None:
    offered = Offered(400.0, delay_s=0.03)
    offered.play(2000.0, 10.0)
    assert offered.told > 0.6
    offered.play(200.0, 2.0)
    assert offered.play(200.0, 5.0) == (0, 0, 1000)


def test_some_are_let_through_whatever_comes() -> None:
    offered = Offered(1.0)
    offered.play(5000.0, 10.0)
    assert offered.told == pytest.approx(1.0 - LEAST_SHARE, abs=0.1)


def test_a_few_refusals_of_a_quiet_endpoint_shed_nothing() -> None:
    offered = Offered(10.0)
    in_front, at_router, _ = offered.play(30.0, 20.0)
    assert in_front == 0
    assert at_router > 300


def test_after_a_pause_nothing_is_shed() -> None:
    offered = Offered(400.0)
    offered.play(4000.0, 5.0)
    assert offered.told > 0.0
    offered.now_s += FORGET_S
    offered.shedding.record("digits", refused=True)
    assert offered.told == 0.0


def test_nothing_is_shed_where_others_would_take_the_place() -> None:
    offered = Offered(1000.0)
    offered.play(3000.0, 3.0)
    assert offered.told > 0.5
    for _ in range(20):
        for _ in range(300):
            offered.shedding.record_beside("digits")
        offered.now_s += STEP_S
        offered.shedding.record("digits", refused=True)
    assert offered.told == 0.0


def test_the_header_has_thousandths_and_is_of_its_endpoint_and_of_one_router_alone() -> None:
    now_s = 0.0
    shedding = FrontShedding(["a", "b"], lambda: now_s)
    for _ in range(20):
        shedding.record("a", refused=True)
        shedding.record("b", refused=False)
        shedding.record("nobody", refused=True)
    shedding.record_beside("nobody")
    now_s = STEP_S
    for name in "a", "b":
        shedding.record(name, refused=name == "a")
    assert shedding.header("a", routers=1) == (HEADER, b"500")
    assert shedding.header("b", routers=1) == shedding.header("nobody", routers=1) == (HEADER, b"0")
    assert shedding.header("a", routers=2) == (HEADER, b"0")
