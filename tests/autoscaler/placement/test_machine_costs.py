"""The cost C of section 3.3 by hand, and after any coming and going the same as worked out anew."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.placement.interference import NoInterference
from autoscaler.placement.machine import LatencySum, Machine
from autoscaler.placement.machine_costs import MachineCosts
from interference_scene import PairLaw, PressureLaw
from predictor.configuration import Configuration

ALONE_S = {("cpu", "a"): 0.010, ("cpu", "b"): 0.020, ("gpu", "a"): 0.004, ("gpu", "b"): 0.005, ("cpu", "c"): 0.030}
LAW = PairLaw({("a", "b"): 1.0, ("b", "a"): 0.5, ("a", "c"): 0.1, ("c", "a"): 0.2})
MACHINES = (Machine("m0", "cpu", 2), Machine("m1", "cpu", 2), Machine("g0", "gpu", 1))


def costs(**running: list[str]) -> MachineCosts:
    return MachineCosts("abc", MACHINES, LatencySum(ALONE_S, LAW), running)


def test_the_cost_is_the_own_latency_beside_what_runs_and_all_latencies_that_run_on_all_machines() -> None:
    found = costs(m0=["b"], g0=["a"])
    # m0: a takes 10 ms * 2.0, b beside it 20 ms * 1.5, and a on g0 4 ms
    assert found.cost_s("a", "m0") == pytest.approx(0.020 + 0.030 + 0.004)
    # m1: a alone 10 ms, b alone on m0 20 ms, a on g0 4 ms
    assert found.cost_s("a", "m1") == pytest.approx(0.010 + 0.020 + 0.004)
    assert found.total_s == pytest.approx(0.024)
    assert found.cost_s("c", "g0") == inf, "c has no latency on a gpu"
    assert found.cost_s("b", "g0") == inf, "the gpu has room for one"


def test_a_variant_goes_where_the_cost_is_least_and_nowhere_where_no_machine_takes_it() -> None:
    found = costs(m0=["b"], m1=["c"])
    assert found.place("a") == "g0"  # 4 ms, and harms nobody
    found.add("a", "g0")
    # m0: 20 + (30 - 20) ms more; m1: 11 + (36 - 30) ms more
    assert found.place("a") == "m1"
    found.add("a", "m1")
    assert found.place("a") == "m0"
    found.add("a", "m0")
    assert found.place("a") is None
    assert [found.running(machine) for machine in ("m0", "m1", "g0")] == [("a", "b"), ("a", "c"), ("a",)]
    found.remove("a", "m1")
    assert found.place("a") == "m1"


@settings(max_examples=60, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_costs_kept_up_to_date_are_those_worked_out_anew(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"v{number}" for number in range(5)]
    law = PressureLaw({v: rng.uniform(0, 2) for v in names}, {v: rng.uniform(0, 2) for v in names}, {"cpu": 0.5})
    alone_s = {(t, v): rng.uniform(0.001, 0.1) for t in ("cpu", "gpu") for v in names if rng.random() < 0.9}
    machines = [Machine(f"m{n}", str(rng.choice(["cpu", "gpu"])), int(rng.integers(1, 4))) for n in range(4)]
    cost = LatencySum(alone_s, law)
    found = MachineCosts(names, machines, cost)
    for _ in range(20):
        variant = str(rng.choice(names))
        if rng.random() < 0.6 and (machine := found.place(variant)) is not None:
            found.add(variant, machine)
        else:
            machine = machines[int(rng.integers(4))].name
            if variant in found.running(machine):
                found.remove(variant, machine)
    now = [Configuration(m.type, found.running(m.name)) for m in machines]
    assert found.total_s == pytest.approx(cost.of(now).sum())
    for variant in names:
        for number, machine in enumerate(machines):
            after = [*now]
            after[number] = Configuration(machine.type, (*now[number].variants, variant))
            wanted = cost.of(after).sum() if now[number].degree < machine.room else inf
            assert found.cost_s(variant, machine.name) == pytest.approx(wanted)
        finite = [m.name for m in machines if np.isfinite(found.cost_s(variant, m.name))]
        best = min(finite, key=lambda name: found.cost_s(variant, name), default=None)
        assert (found.place(variant) is None) == (best is None)
        if best is not None:
            assert found.cost_s(variant, str(found.place(variant))) == pytest.approx(found.cost_s(variant, best))


def test_machines_of_one_type_with_the_same_variants_are_predicted_for_once() -> None:
    law = PressureLaw({"a": 1.0, "b": 1.0, "c": 1.0})
    machines = [Machine(f"m{number}", "cpu", 3) for number in range(50)]
    found = MachineCosts("abc", machines, LatencySum(ALONE_S, law))
    assert law.asked == 3  # each variant alone, once for all machines
    for machine in machines:
        found.add("a", machine.name)
    assert law.asked == 3 + 4
    found.remove("a", "m7")
    found.add("a", "m7")
    assert law.asked == 3 + 4


def test_of_two_choices_the_better_is_taken_and_a_seed_gives_the_same_ones() -> None:
    machines = [Machine(f"m{number}", "cpu", 2) for number in range(20)]
    found = MachineCosts("abc", machines, LatencySum(ALONE_S, LAW), {f"m{n}": ["b"] for n in range(0, 20, 2)})
    one, other = (
        [found.power_of_two("a", rng) for _ in range(200)]
        for rng in (np.random.default_rng(3), np.random.default_rng(3))
    )
    assert one == other
    # both of two machines hold b in 9 of 38 cases
    assert np.mean([int(str(name)[1:]) % 2 == 0 for name in one]) == pytest.approx(9 / 38, abs=0.08)
    assert len(set(one)) > 15


def test_two_choices_without_room_give_way_to_the_best_of_all() -> None:
    machines = [Machine(f"m{number}", "cpu", 1) for number in range(20)]
    found = MachineCosts("abc", machines, LatencySum(ALONE_S, LAW), {f"m{n}": ["b"] for n in range(19)})
    rng = np.random.default_rng(0)
    assert {found.power_of_two("a", rng) for _ in range(20)} == {"m19"}
    found.add("a", "m19")
    assert found.power_of_two("a", rng) is None


def test_a_weight_counts_a_latency_so_many_times_and_degradation_is_what_neighbours_add() -> None:
    both = [Configuration("cpu", ("a", "b")), Configuration("cpu", ("a",)), Configuration("cpu", ())]
    assert LatencySum(ALONE_S, LAW, {"a": 10.0}).of(both) == pytest.approx([0.2 + 0.03, 0.1, 0.0])
    assert LatencySum(ALONE_S, LAW, added_only=True).of(both) == pytest.approx([0.01 + 0.01, 0.0, 0.0])
    assert LatencySum(ALONE_S, NoInterference()).of(both) == pytest.approx([0.03, 0.01, 0.0])


def test_what_cannot_be_is_refused_with_what_is_known() -> None:
    found = costs(m0=["b", "c"])
    with pytest.raises(ValueError, match="m0 has room for 2 variants, not 3"):
        found.add("a", "m0")
    with pytest.raises(ValueError, match="'c' has no latency on g0, a gpu"):
        found.add("c", "g0")
    with pytest.raises(ValueError, match="variant 'z' is not known; known are a, b, c"):
        found.place("z")
    with pytest.raises(ValueError, match="machine 'm9' is not known; known are g0, m0, m1"):
        found.running("m9")
    with pytest.raises(ValueError, match="'a' does not run on m0; there run b, c"):
        found.remove("a", "m0")
    with pytest.raises(ValueError, match="machines m0 are there more than once"):
        MachineCosts("a", [Machine("m0", "cpu", 1)] * 2, LatencySum(ALONE_S, LAW))
