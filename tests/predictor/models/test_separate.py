"""Who is asked for what."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from predictor.configuration import Configuration
from predictor.examples import Examples, examples_of
from predictor.measurements import Measurements
from predictor.models.separate import Cell, SeparatePredictors, fit_separate
from predictor.predictor import Prediction
from slowdown_scene import run


@dataclass(frozen=True)
class Numbered:
    """Predicts its number, and the position of each variant as the deviation; notes what it was asked for."""

    number: float
    asked: list[Configuration] = field(default_factory=list)

    def slowdowns(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        self.asked.extend(configurations)
        return np.full(sum(each.degree for each in configurations), self.number)

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        positions = [float(position) for each in configurations for position in range(each.degree)]
        return Prediction(self.slowdowns(configurations), np.array(positions))


def of(*cells: Cell) -> SeparatePredictors:
    return SeparatePredictors({cell: Numbered(float(number)) for number, cell in enumerate(cells)})


@pytest.mark.parametrize(
    ("machine", "degree", "asked"),
    [
        ("m", 2, 0.0),
        ("m", 3, 1.0),
        ("m", 5, 1.0),  # the nearest degree of its machine type
        ("n", 2, 2.0),  # its machine type counts more than the degree
        ("x", 2, 0.0),  # of other machine types the nearest degree
        ("x", 9, 2.0),
    ],
)
def test_the_nearest_predictor_is_asked(machine: str, degree: int, asked: float) -> None:
    separate = of(("m", 2), ("m", 3), ("n", 5))
    configuration = Configuration(machine, ("a",) * degree)
    assert separate.slowdowns([configuration]).tolist() == [asked] * degree
    assert separate.predict([configuration]).slowdown.tolist() == [asked] * degree


def test_answers_are_in_the_order_of_the_configurations_and_each_is_asked_once() -> None:
    separate = of(("m", 2), ("n", 3))
    asked = [Configuration("n", ("a", "b", "c")), Configuration("m", ("a", "b")), Configuration("n", ("d", "e", "f"))]
    said = separate.predict(asked)
    assert said.slowdown.tolist() == [1, 1, 1, 0, 0, 1, 1, 1]
    assert said.deviation.tolist() == [0, 1, 2, 0, 1, 0, 1, 2]
    in_n = separate.predictors["n", 3]
    assert isinstance(in_n, Numbered)
    assert in_n.asked == [asked[0], asked[2]]


def test_each_learns_from_the_examples_of_its_machine_type_and_degree() -> None:
    seen: list[Examples] = []

    def fit(examples: Examples) -> Numbered:
        seen.append(examples)
        return Numbered(len(seen))

    measurements = Measurements(
        (
            run("m", "ab", (1.1, 1.2)),
            run("n", "ab", (1.3, 1.4)),
            run("m", "abc", (1.5, 1.6, 1.7)),
            run("m", "cd", (1.8, 1.9)),
            run("m", "ab", (1.3, 1.4)),
        )
    )
    separate = fit_separate(examples_of(measurements), fit)
    assert list(separate.predictors) == [("m", 2), ("n", 2), ("m", 3)]
    pairs, elsewhere, triples = seen
    assert [each.variants for each in pairs.configurations] == [("a", "b"), ("c", "d")]
    assert pairs.slowdown.tolist() == pytest.approx([1.2, 1.3, 1.8, 1.9])
    assert pairs.repeats.tolist() == [2.0, 2.0, 1.0, 1.0]
    assert elsewhere.slowdown.tolist() == pytest.approx([1.3, 1.4])
    assert triples.slowdown.tolist() == pytest.approx([1.5, 1.6, 1.7])


def test_a_single_example_makes_no_predictor_and_the_nearest_is_asked() -> None:
    runs = (run("m", "a", 1.0), run("m", "ab", (1.1, 1.2)), run("n", "a", 1.0))
    separate = fit_separate(examples_of(Measurements(runs)), lambda examples: Numbered(len(examples.slowdown)))
    assert list(separate.predictors) == [("m", 2)]
    assert separate.slowdowns([Configuration("n", ("a",))]).tolist() == [2.0]
    alone = fit_separate(examples_of(Measurements(runs[::2])), lambda examples: Numbered(len(examples.slowdown)))
    assert alone.slowdowns([Configuration("m", ("a", "b"))]).tolist() == [2.0, 2.0], "one for all"
