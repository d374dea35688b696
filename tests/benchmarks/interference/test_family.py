from benchmarks.interference.family import CONFIGURATIONS, VARIANTS, family


def test_a_seed_makes_one_family() -> None:
    (one, table), (again, same), (other, _) = family(3), family(3), family(4)
    assert one.runs == again.runs
    assert (table.hardware, table.architecture) == (same.hardware, same.architecture)
    assert one.runs != other.runs


def test_there_are_machine_types_of_two_makes_with_pairs_and_triples_on_each() -> None:
    measured, table = family(0)
    assert len(measured.machines) >= 7
    assert {machine.split("-")[0] for machine in measured.machines} == {"cpu", "gpu"}
    for machine in measured.machines:
        own = [each for each in measured.repeats if each.machine == machine]
        assert len(own) == CONFIGURATIONS
        assert {each.degree for each in own} == {2, 3}
        assert sum((machine, name) in table.hardware for name in table.architecture) == VARIANTS
    assert measured.slowdown.min() > 0.9
    assert measured.slowdown.max() > 1.5


def test_a_metric_that_a_machine_type_does_not_report_is_missing() -> None:
    _, table = family(0)
    of = {machine: set(known) for (machine, _), known in table.hardware.items()}
    assert all(("hw_bus" in known) == machine.startswith("gpu") for machine, known in of.items())
    assert all(("hw_cache" in known) == machine.startswith("cpu") for machine, known in of.items())
