import pytest

from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.measurements import Measurements
from slowdown_scene import run


def test_an_example_is_the_mean_of_the_repeats_in_the_order_of_the_names() -> None:
    examples = examples_of(
        Measurements((run("m", "ba", (1.5, 1.1)), run("n", "ccc", (2.0, 3.0, 4.0)), run("m", "ab", (1.3, 1.9))))
    )
    assert examples.configurations == (Configuration("m", ("a", "b")), Configuration("n", ("c", "c", "c")))
    assert examples.slowdown.tolist() == pytest.approx([1.2, 1.7, 2.0, 3.0, 4.0])
    assert examples.repeats.tolist() == [2.0, 2.0, 1.0, 1.0, 1.0]
    assert len(examples) == 5


def test_the_mean_is_of_slowdowns_not_of_latencies() -> None:
    examples = examples_of(Measurements((run("m", "ab", 2.0, 10.0), run("m", "ab", 1.0, 1000.0))))
    assert examples.slowdown.tolist() == [1.5, 1.5]


def test_no_measurements_are_no_examples() -> None:
    examples = examples_of(Measurements(()))
    assert (len(examples), examples.configurations) == (0, ())


def test_only_the_examples_of_some_configurations_are_taken() -> None:
    examples = examples_of(
        Measurements((run("m", "ab", (1.1, 1.2)), run("n", "abc", (1.3, 1.4, 1.5)), run("m", "c", 1.6)))
    )
    own = examples.only([Configuration("m", ("c",)), Configuration("m", ("a", "b"))])
    assert own.configurations == (Configuration("m", ("a", "b")), Configuration("m", ("c",)))
    assert own.slowdown.tolist() == pytest.approx([1.1, 1.2, 1.6])
    assert len(own.repeats) == 3
