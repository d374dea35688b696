"""Figures beside what the machine takes for a fixed piece of work."""

import pytest

from benchmarks import machine
from benchmarks.machine import with_machine


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that takes 10 ms for the loop and 4 ms for the products."""
    monkeypatch.setattr(machine, "loop_s", lambda: 0.010)
    monkeypatch.setattr(machine, "product_s", lambda: 0.004)


def test_the_machine_is_measured() -> None:
    now = machine.machine()
    assert now["cores"] >= 1
    assert 0.0 < now["loop_s"] < 10.0
    assert 0.0 < now["product_s"] < 10.0


@pytest.mark.usefixtures("fixed")
def test_times_and_rates_are_given_as_multiples_wherever_they_stand() -> None:
    body = {
        "slo_ms": 100.0,
        "cases": {"a": {"solve_s": 0.02, "wait_ms": 8.0, "exact": True}, "b": [{"solve_s": 1.0}]},
        "seconds": {"first": 0.1},
        "rps": 50.0,
    }
    made = with_machine(body, times=("solve_s", "wait_ms", "seconds"), rates=("rps",))
    assert {key: made[key] for key in body} == body
    assert (made["machine"]["loop_s"], made["machine"]["product_s"]) == (0.010, 0.004)
    assert made["multiples"] == {
        "cases.a.solve_s": {"loops": pytest.approx(2.0), "products": pytest.approx(5.0)},
        "cases.a.wait_ms": {"loops": pytest.approx(0.8), "products": pytest.approx(2.0)},
        "cases.b.0.solve_s": {"loops": pytest.approx(100.0), "products": pytest.approx(250.0)},
        "seconds.first": {"loops": pytest.approx(10.0), "products": pytest.approx(25.0)},
        "rps": {"per_loop": pytest.approx(0.5), "per_product": pytest.approx(0.2)},
    }
