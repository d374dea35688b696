"""What is asked of a predictor, and what is made of its answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from autoscaler.placement.interference import NoInterference, PredictedInterference
from predictor.configuration import Configuration
from predictor.predictor import Prediction

SIZES = {"small": 0.25, "large": 1.0, "odd": -1.0}


@dataclass
class BySize:
    """Every variant takes longer by the sizes of the others."""

    asked: list[list[Configuration]] = field(default_factory=list)

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        slowdown = self.slowdowns(configurations)
        return Prediction(slowdown, np.zeros_like(slowdown))

    def slowdowns(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        self.asked.append(list(configurations))
        return np.array([1.0 + sum(SIZES[v] for v in c.beside(i)) for c in configurations for i in range(c.degree)])


def on(*variants: str, machine: str = "m") -> Configuration:
    return Configuration(machine, variants)


def test_slowdowns_are_in_the_order_of_the_variants_whatever_it_is() -> None:
    predicted = PredictedInterference(BySize())
    several = [on("small", "large"), on("large", "small"), on("large", "small", "large")]
    assert predicted.slowdowns(several) == [(2.0, 1.25), (1.25, 2.0), (2.25, 3.0, 2.25)]
    assert predicted.slowdowns(several) == [(2.0, 1.25), (1.25, 2.0), (2.25, 3.0, 2.25)]


def test_a_predictor_is_asked_once_for_each_set_and_not_for_variants_alone() -> None:
    predictor = BySize()
    predicted = PredictedInterference(predictor)
    assert predicted.slowdowns([on("small"), on(), on("small", "large"), on("large", "small")]) == [
        (1.0,),
        (),
        (2.0, 1.25),
        (1.25, 2.0),
    ]
    predicted.slowdowns([on("large", "small"), on("large", "large", machine="n")])
    assert predictor.asked == [[on("large", "small")], [on("large", "large", machine="n")]]


def test_a_prediction_below_1_counts_as_1() -> None:
    assert PredictedInterference(BySize()).slowdowns([on("odd", "small")]) == [(1.25, 1.0)]


def test_what_is_remembered_is_bounded_and_answers_stay_the_same() -> None:
    predictor = BySize()
    predicted = PredictedInterference(predictor, most_kept=2)
    several = [on("small", "small"), on("small", "large"), on("large", "large")]
    first = [predicted.slowdowns([each]) for each in several]
    assert [predicted.slowdowns([each]) for each in reversed(several)] == first[::-1]
    assert len(predictor.asked) == 5, "the third made room for itself, and is remembered; the others are asked again"


def test_with_no_room_nothing_is_remembered() -> None:
    predictor = BySize()
    predicted = PredictedInterference(predictor, most_kept=0)
    assert predicted.slowdowns([on("small", "large")]) == predicted.slowdowns([on("small", "large")]) == [(2.0, 1.25)]
    assert len(predictor.asked) == 2


def test_without_interference_every_factor_is_1() -> None:
    assert NoInterference().slowdowns([on("a"), on("a", "b", "c")]) == [(1.0,), (1.0, 1.0, 1.0)]
