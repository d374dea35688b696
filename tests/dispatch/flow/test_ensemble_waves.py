"""Second waves: when they are asked, and of whom."""

import pytest

from dispatch.plan import Plan
from dispatch_scene import launched
from ensemble_scene import (
    DUE_S,
    LATENCY_S,
    SLO_S,
    answered,
    ask,
    fail,
    flow,
    nothing_is_left,
    one_wave,
    running,
    say,
    scene,
    two,
    two_waves,
    woken,
)


def test_a_second_wave_is_not_asked_where_the_first_leads_by_more_than_the_margin() -> None:
    d, ensemble = two()
    ask(d)
    assert answered(say(d, "a", 0.01, 1)) == [], "b could still lower the lead"
    (answer,) = answered(say(d, "b", 0.02, 1))
    assert answer.variant == "a+b"
    assert running(d, "c") == []
    assert nothing_is_left(d, ensemble)


def test_a_second_wave_is_asked_where_the_first_leads_by_little() -> None:
    d, ensemble = two()
    assert [batch.worker for batch in launched(ask(d))] == ["a", "b"]
    say(d, "a", 0.01, 1)
    commands = say(d, "b", 0.02, 2)
    assert answered(commands) == []
    (batch,) = launched(commands)
    assert (batch.worker, batch.jobs[0].deadline_s) == ("c", SLO_S)
    (answer,) = answered(say(d, "c", 0.03, 2))
    assert (answer.variant, answer.outputs["label"].tolist()) == ("a+b+c", [2])
    assert nothing_is_left(d, ensemble)


def test_a_second_wave_that_would_not_be_back_in_time_is_not_asked() -> None:
    for at_s, asked in ((DUE_S - LATENCY_S - 1e-6, True), (DUE_S - LATENCY_S + 1e-6, False), (SLO_S, False)):
        d, _ = two()
        ask(d)
        say(d, "a", 0.01, 1)
        commands = say(d, "b", at_s, 2)
        assert bool(launched(commands)) is asked
        assert [answer.variant for answer in answered(commands)] == ([] if asked else ["a+b"])


def test_a_lead_of_the_margin_itself_is_too_little_whatever_rounding_makes_of_it() -> None:
    made = flow(one_wave("a"))
    lead = made.weights.rows[1][0]
    for margin, asked in ((lead, True), (lead * (1.0 - 1e-15), True), (lead - 1e-6, False)):
        again = flow(two_waves("a", "bc", stop_margin=margin))
        d = scene(again)
        ask(d)
        assert bool(launched(say(d, "a", 0.01, 1))) is asked


def test_a_second_wave_has_only_members_that_a_worker_holds() -> None:
    made = flow(two_waves("a", "bc", stop_margin=99.0))
    d = scene(made)
    ask(d)
    d.on_workers_lost(["b"], 0.01)
    assert [batch.worker for batch in launched(say(d, "a", 0.02, 1))] == ["c"]
    (answer,) = answered(say(d, "c", 0.03, 1))
    assert answer.variant == "a+c"
    assert nothing_is_left(d, made)


def test_where_nobody_holds_the_second_wave_the_first_decides() -> None:
    made = flow(two_waves("a", "bc", stop_margin=99.0))
    d = scene(made, workers="a")
    ask(d)
    (answer,) = answered(say(d, "a", 0.02, 1))
    assert answer.variant == "a"
    assert nothing_is_left(d, made)


def test_where_the_first_wave_fails_the_second_is_asked_at_once() -> None:
    made = flow(two_waves("a", "bc"))
    d = scene(made)
    ask(d)
    for _ in range(2):
        fail(d, "a", 0.01)
    assert [batch.worker for batch in launched(fail(d, "a", 0.01))] == ["b", "c"]
    say(d, "b", 0.02, 1)
    assert len(answered(say(d, "c", 0.02, 1))) == 1
    assert nothing_is_left(d, made)


def test_where_the_first_wave_loses_its_workers_the_second_is_asked_at_once() -> None:
    made = flow(two_waves("a", "bc"))
    d = scene(made)
    ask(d)
    assert [batch.worker for batch in launched(d.on_workers_lost(["a"], 0.01))] == ["b", "c"]
    say(d, "b", 0.02, 1)
    assert len(answered(say(d, "c", 0.02, 1))) == 1
    assert nothing_is_left(d, made)


def test_members_of_the_second_wave_that_are_lost_while_it_is_open_are_not_waited_for() -> None:
    d, ensemble = two()
    ask(d)
    say(d, "a", 0.01, 1)
    say(d, "b", 0.02, 2)
    (answer,) = answered(d.on_workers_lost(["c"], 0.03))
    assert (answer.variant, answer.outputs["label"].tolist()) == ("a+b", [1])
    assert nothing_is_left(d, ensemble)


def test_a_first_wave_of_one_is_woken_for_as_well() -> None:
    made = flow(two_waves("a", "bc", stop_margin=99.0))
    d = scene(made)
    assert woken(ask(d)) == [pytest.approx(DUE_S)]
    assert woken(say(d, "a", 0.01, 1)) == []
    (answer,) = answered(d.on_timer(DUE_S))
    assert answer.variant == "a"


def test_an_endpoint_that_is_dropped_asks_no_second_wave() -> None:
    d, ensemble = two()
    ask(d)
    d.apply(Plan(2, {}), 0.01)
    say(d, "a", 0.02, 1)
    commands = say(d, "b", 0.02, 2)
    assert [answer.variant for answer in answered(commands)] == ["a+b"]
    assert launched(commands) == []
    assert nothing_is_left(d, ensemble)
