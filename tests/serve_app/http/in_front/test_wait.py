"""What a router tells the proxy about waits in front of it."""

from dataclasses import replace

from dispatch.plan import Plan
from router_scene import digits
from serve_app.http.in_front.wait import BESIDE_SHARE, HEADER, IN_FRONT_S, REFUSING_HEADER, RUNS, SHARE, FrontWait


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def told(*ages_s: float) -> int:
    wait = FrontWait(0.1, Clock())
    for age_s in ages_s:
        wait.saw(age_s)
    name, value = wait.headers[0]
    assert name == HEADER
    return int(value)


def test_it_is_a_share_of_the_wait_that_the_objective_bears() -> None:
    assert 95 <= told(*[0.1 * SHARE] * 500) <= 100


def plan(*slos_s: float) -> Plan:
    built = digits()
    endpoints = {f"e{slo_s:g}": replace(built, limits=replace(built.limits, slo_s=slo_s)) for slo_s in slos_s}
    return Plan(1, endpoints)


def test_ages_are_held_against_the_shortest_objective_of_the_plan_in_force() -> None:
    wait = FrontWait(0.1, Clock())
    for _ in range(500):
        wait.saw(0.1 * SHARE)
    wait.on_plan(plan(0.4, 0.05, 0.2))
    assert 190 <= pct(wait) <= 200
    wait.on_plan(plan(0.4, 0.2))
    assert 47 <= pct(wait) <= 50


def test_one_late_request_is_no_overload() -> None:
    assert told(0.1) < 10


def test_a_quiet_router_says_so() -> None:
    assert told() == 0


def pct(wait: FrontWait) -> int:
    return int(wait.headers[0][1])


def refusing_pct(wait: FrontWait) -> int:
    name, value = wait.headers[1]
    assert name == REFUSING_HEADER
    return int(value)


def test_a_router_that_mostly_refuses_asks_for_fewer_requests_however_short_they_wait() -> None:
    wait = FrontWait(0.1, Clock())
    for _ in range(1000):
        wait.saw(0.001)
        wait.answered(refused=True)
    assert (pct(wait) < 20, refusing_pct(wait) > 400) == (True, True)
    for _ in range(1000):
        wait.answered(refused=False)
    assert refusing_pct(wait) < 20


def test_a_refusal_now_and_then_changes_nothing() -> None:
    wait = FrontWait(0.1, Clock())
    for number in range(2000):
        wait.answered(refused=number % 10 == 0)
    assert refusing_pct(wait) < 100


def served(wait: FrontWait, latency_s: float, run_s: float, slo_s: float = 0.1) -> int:
    for _ in range(500):
        wait.took(latency_s, run_s, slo_s)
    return pct(wait)


def test_while_the_proxy_refuses_answers_may_not_take_long_beside_runs() -> None:
    wait = FrontWait(0.1, clock := Clock())
    beside_s = 0.1 * BESIDE_SHARE
    assert served(wait, 2 * beside_s, run_s=0.0) == 0  # nobody is refused: the window is for those who come
    wait.refused_in_front()
    assert 195 <= pct(wait) <= 200
    assert 95 <= served(wait, beside_s, run_s=0.0) <= 100
    clock.now_s += IN_FRONT_S
    assert pct(wait) == 0


def test_how_long_runs_are_is_not_the_proxys_to_judge() -> None:
    wait = FrontWait(0.1, Clock())
    wait.refused_in_front()
    assert served(wait, 0.09, run_s=0.09 / RUNS) == 0
    assert served(wait, 0.04, run_s=0.09) == 0


def test_what_an_answer_takes_is_held_against_its_own_objective() -> None:
    wait = FrontWait(0.1, Clock())
    wait.refused_in_front()
    assert 95 <= served(wait, 3.0 * BESIDE_SHARE, run_s=0.0, slo_s=3.0) <= 100
