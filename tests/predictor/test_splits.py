from collections import Counter

import pytest

from predictor.configuration import Configuration
from predictor.measurements import Measurements, Run
from predictor.splits import folds, sample, split
from slowdown_scene import measured


@pytest.fixture(scope="module")
def with_repeats() -> Measurements:
    """Repeats of each configuration, with the variants the other way round."""
    own = measured(["small", "large"], triples=5, noise=0.02)
    turned = [Run(each.configuration._replace(variants=each.configuration.variants[::-1]),
                  each.alone_ms[::-1], each.together_ms[::-1]) for each in own]  # fmt: skip
    return Measurements((*own.runs, *turned))


def test_repeats_of_a_configuration_are_on_one_side(with_repeats: Measurements) -> None:
    training, test = split(with_repeats, seed=1)
    assert not training.repeats.keys() & test.repeats.keys()
    assert training.repeats.keys() | test.repeats.keys() == with_repeats.repeats.keys()
    assert len(training) + len(test) == len(with_repeats)
    assert len(training.repeats) == round(0.7 * len(with_repeats.repeats))


def test_the_seed_draws_the_split(with_repeats: Measurements) -> None:
    assert split(with_repeats, 3)[1].runs == split(with_repeats, 3)[1].runs
    assert split(with_repeats, 3)[1].runs != split(with_repeats, 4)[1].runs


def test_folds_hold_out_each_configuration_once_with_all_of_its_repeats(with_repeats: Measurements) -> None:
    held_out = []
    sizes = []
    for training, out in folds(with_repeats, 4, seed=0):
        assert not training.repeats.keys() & set(out)
        assert len(training) == len(with_repeats) - 2 * len(out)
        held_out += out
        sizes.append(len(out))
    assert sorted(held_out) == sorted(with_repeats.repeats)
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) <= 1


def test_there_are_no_more_folds_than_configurations() -> None:
    few = Measurements(measured(["small"], triples=0).runs[:3])
    assert [len(out) for _, out in folds(few, 10, seed=0)] == [1, 1, 1]


def numbered(**counts: int) -> list[Configuration]:
    """So many pairs of each machine type, in turns as far as there are."""
    every = [Configuration(machine, ("a", f"b{i}")) for machine, count in counts.items() for i in range(count)]
    return sorted(every, key=lambda each: int(each.variants[1][1:]))


def test_of_a_machine_type_with_few_configurations_a_sample_has_all() -> None:
    every = numbered(few=5, many=100, more=200)
    drawn = sample(every, 100, seed=0)
    assert Counter(each.machine for each in drawn) == {"few": 5, "many": 22, "more": 23}
    assert drawn == [each for each in every if each in set(drawn)], "the order is not that of before"
    assert drawn == sample(every, 100, seed=0) != sample(every, 100, seed=1)


def test_a_sample_is_everything_where_there_is_no_more() -> None:
    every = numbered(few=5, many=10)
    assert sample(every, 30, seed=0) == every
    assert sum(each.degree for each in sample(every, 29, seed=0)) <= 29
