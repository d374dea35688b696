import numpy as np
import pytest

import slowdown_scene as scene
from predictor.configuration import Configuration
from predictor.examples import Examples, examples_of
from predictor.kinds import FOREST, TREE_KINDS
from predictor.models.trees import Trees, fit_trees, one_hot

ASKED = [Configuration("small", ("v1", "v4", "v6")), Configuration("large", ("v3", "v3"))]


@pytest.fixture(scope="module")
def examples() -> Examples:
    return examples_of(scene.measured(["small", "large"], triples=8))


@pytest.fixture(scope="module")
def trees(examples: Examples) -> dict[str, Trees]:
    return {kind: fit_trees(examples, scene.table(), kind) for kind in TREE_KINDS}


@pytest.mark.parametrize("kind", TREE_KINDS)
def test_the_prediction_is_the_geometric_mean_of_the_members_and_the_deviation_their_disagreement(
    trees: dict[str, Trees], kind: str
) -> None:
    own = trees[kind]
    rows = own.features.rows(ASKED)
    said = np.exp([member.predict(rows) for member in own.ensemble.estimators_])
    found = own.predict(ASKED)
    np.testing.assert_allclose(found.slowdown, said.prod(axis=0) ** (1 / len(said)))
    np.testing.assert_allclose(found.deviation, said.std(axis=0))
    np.testing.assert_allclose(own.slowdowns(ASKED), found.slowdown)
    assert (found.deviation > 0).all()


@pytest.mark.parametrize("kind", TREE_KINDS)
def test_a_variant_alone_is_not_slowed_down(trees: dict[str, Trees], kind: str) -> None:
    asked = [Configuration("small", ("v6",)), *ASKED, Configuration("nowhere", ("nobody",))]
    assert trees[kind].slowdowns(asked)[[0, -1]].tolist() == [1.0, 1.0]
    said = trees[kind].predict(asked)
    assert said.slowdown[[0, -1]].tolist() == [1.0, 1.0]
    assert said.deviation[[0, -1]].tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(said.slowdown[1:-1], trees[kind].predict(ASKED).slowdown)


@pytest.mark.parametrize("kind", TREE_KINDS)
def test_of_no_configurations_there_is_nothing_to_say(trees: dict[str, Trees], kind: str) -> None:
    said = trees[kind].predict([])
    assert said.slowdown.shape == said.deviation.shape == trees[kind].slowdowns([]).shape == (0,)


@pytest.mark.parametrize("kind", TREE_KINDS)
def test_the_order_of_variants_does_not_matter(trees: dict[str, Trees], kind: str) -> None:
    turned = [Configuration("small", ("v6", "v1", "v4"))]
    np.testing.assert_allclose(trees[kind].slowdowns(turned)[[1, 2, 0]], trees[kind].slowdowns(ASKED[:1]))


@pytest.mark.parametrize("kind", TREE_KINDS)
def test_the_seed_makes_the_trees(examples: Examples, trees: dict[str, Trees], kind: str) -> None:
    again, other = (fit_trees(examples, scene.table(), kind, seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(again.slowdowns(ASKED), trees[kind].slowdowns(ASKED))
    assert (other.slowdowns(ASKED) != trees[kind].slowdowns(ASKED)).any()


def test_a_forest_minds_how_often_something_was_measured(examples: Examples) -> None:
    """The first configuration has another slowdown than the law's; only one who knows that it is sure believes it."""
    slowdown, repeats = examples.slowdown.copy(), examples.repeats.copy()
    slowdown[:2] = 3.0
    said = []
    for number in (1.0, 500.0):
        repeats[:2] = number
        own = Examples(examples.configurations, slowdown, repeats.copy())
        said.append(fit_trees(own, scene.table(), FOREST).slowdowns(examples.configurations[:1]))
    assert (np.abs(said[1] - 3.0) < 0.5 * np.abs(said[0] - 3.0)).all()


def test_each_machine_type_has_a_number_of_its_own(examples: Examples) -> None:
    assert one_hot(examples) == {"large": (1.0, 0.0), "small": (0.0, 1.0)}


def test_encodings_stand_in_for_machine_types(examples: Examples) -> None:
    """A machine type without measurements is predicted as the one that has its encoding."""
    same = {"small": (1.0,), "large": (0.3,), "new": (1.0,)}
    own = fit_trees(examples, scene.table(scene.MACHINES), FOREST, columns=["arch_flops"], encodings=same)
    new, small, large = (own.slowdowns([Configuration(m, ("v4", "v6"))]) for m in ("new", "small", "large"))
    np.testing.assert_array_equal(new, small)
    assert (small > large + 0.2).all()


@pytest.mark.parametrize("kind", TREE_KINDS)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_few_examples_are_enough_to_learn_from(examples: Examples, kind: str, count: int) -> None:
    few = Examples((Configuration("small", scene.NAMES[:count]),), examples.slowdown[:count], examples.repeats[:count])
    assert np.isfinite(fit_trees(few, scene.table(), kind).slowdowns(ASKED)).all()
