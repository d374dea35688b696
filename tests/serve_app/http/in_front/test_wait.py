"""What a router tells the proxy about waits in front of it."""

from serve_app.http.in_front.wait import HEADER, SHARE, FrontWait


def told(*ages_s: float) -> int:
    wait = FrontWait(slo_s=0.1)
    for age_s in ages_s:
        wait.saw(age_s)
    name, value = wait.header
    assert name == HEADER
    return int(value)


def test_it_is_a_share_of_the_wait_that_the_objective_bears() -> None:
    assert 95 <= told(*[0.1 * SHARE] * 500) <= 100


def test_one_late_request_is_no_overload() -> None:
    assert told(0.1) < 10


def test_a_quiet_router_says_so() -> None:
    assert told() == 0


def pct(wait: FrontWait) -> int:
    return int(wait.header[1])


def test_a_router_that_mostly_refuses_asks_for_fewer_requests_however_short_they_wait() -> None:
    wait = FrontWait(0.1)
    for _ in range(1000):
        wait.saw(0.001)
        wait.answered(refused=True)
    assert pct(wait) > 400
    for _ in range(1000):
        wait.answered(refused=False)
    assert pct(wait) < 20


def test_a_refusal_now_and_then_changes_nothing() -> None:
    wait = FrontWait(0.1)
    for number in range(2000):
        wait.answered(refused=number % 10 == 0)
    assert pct(wait) < 100
