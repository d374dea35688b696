"""Kinds are chosen by what they say of configurations that they have not seen."""

from collections.abc import Sequence

import numpy as np
import pytest

import slowdown_scene as scene
from catalog.errors import ConfigError
from predictor import training
from predictor.examples import Examples, examples_of
from predictor.kinds import BOOSTING, FOREST, GAUSSIAN_PROCESS, KINDS
from predictor.measurements import Measurements
from predictor.models.gaussian_process import GaussianProcess
from predictor.models.separate import SeparatePredictors
from predictor.models.trees import Trees
from predictor.scores import mean_absolute_error, mean_predictor_error
from predictor.splits import folds, split
from predictor.training import cross_validated_error, fit, train


@pytest.fixture(scope="module")
def measured() -> Measurements:
    return scene.measured(["small", "large"], triples=6)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_predicts_the_unseen_by_far_better_than_the_mean(kind: str) -> None:
    learned, test = (examples_of(each) for each in split(scene.measured(triples=20), seed=0))
    predictor = fit(learned, scene.table(), kind)
    assert mean_absolute_error(predictor, test) < mean_predictor_error(learned, test) / 3


def test_the_kind_with_the_least_error_in_cross_validation_is_fitted_to_everything(
    measured: Measurements, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[tuple[str, int]] = []

    def noted(examples: Examples, table: object, kind: str, **options: object) -> Trees:
        fitted.append((kind, len(examples.configurations)))
        shallow = kind == BOOSTING  # made the worse kind, by learning from next to nothing
        own = (
            Examples(examples.configurations[:1], examples.slowdown[:2], examples.repeats[:2]) if shallow else examples
        )
        return training.fit_trees(own, scene.table(), FOREST)

    monkeypatch.setattr(training, "fit", noted)
    shares: list[float] = []
    trained = train(measured, scene.table(), kinds=(BOOSTING, FOREST), on_progress=shares.append)
    number = len(measured.repeats)
    assert trained.kind == FOREST
    assert trained.errors[FOREST] < trained.errors[BOOSTING] / 2
    assert fitted[-1] == (FOREST, number)
    assert all(seen <= number - number // 4 for _, seen in fitted[:-1])
    assert shares == pytest.approx(np.arange(1, 10) / 9)


def test_one_kind_needs_no_cross_validation(measured: Measurements) -> None:
    shares: list[float] = []
    trained = train(measured, scene.table(), kinds=(FOREST,), on_progress=shares.append)
    assert (trained.kind, trained.errors, shares) == (FOREST, {}, [1.0])
    assert isinstance(trained.predictor, Trees)


def test_the_cross_validated_error_is_the_mean_over_what_is_held_out(measured: Measurements) -> None:
    def fitted(examples: Examples) -> Trees:
        return training.fit_trees(examples, scene.table(), FOREST)

    off = [
        np.abs(fitted(examples_of(rest)).slowdowns(truth.configurations) - truth.slowdown)
        for rest, held_out in folds(measured, 4, 7)
        for truth in [examples_of(measured.only(held_out))]
    ]
    assert cross_validated_error(measured, fitted, 7) == pytest.approx(np.concatenate(off).mean())


def test_separate_predictors_are_one_for_each_machine_type_and_degree(measured: Measurements) -> None:
    trained = train(measured, scene.table(), kinds=(FOREST,), separate=True)
    assert isinstance(trained.predictor, SeparatePredictors)
    assert sorted(trained.predictor.predictors) == [("large", 2), ("large", 3), ("small", 2), ("small", 3)]
    assert all(isinstance(each, Trees) for each in trained.predictor.predictors.values())


@pytest.mark.parametrize(("kind", "made"), [(GAUSSIAN_PROCESS, GaussianProcess), (FOREST, Trees)])
def test_only_the_columns_that_are_given_are_gone_by(kind: str, made: type) -> None:
    examples = examples_of(scene.measured(["small"], triples=0))
    predictor = fit(examples, scene.table(), kind, columns=["arch_flops"])
    assert isinstance(predictor, made)
    if isinstance(predictor, GaussianProcess):
        assert predictor.points.shape == (len(scene.NAMES), 1)
    else:
        assert isinstance(predictor, Trees)
        assert predictor.features.columns == ("arch_flops",)


@pytest.mark.parametrize("kinds", [("oracle",), ("oracle", FOREST)])
def test_an_unknown_kind_is_refused_with_those_there_are(measured: Measurements, kinds: Sequence[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        train(measured, scene.table(), kinds=kinds)
    assert str(raised.value) == f"predictor kind 'oracle' is unknown; use one of {', '.join(KINDS)}"


def test_too_few_configurations_are_refused_repeats_do_not_count() -> None:
    few = Measurements(scene.measured(["small"], triples=0).runs[:7] * 2)
    with pytest.raises(ConfigError, match="7 configurations are too few to learn from; measure at least 8"):
        train(few, scene.table())
    with pytest.raises(ConfigError, match="0 configurations are too few"):
        train(Measurements(()), scene.table())


def test_kinds_are_chosen_for_each_machine_type_and_degree_with_few_examples_of_some() -> None:
    alone = tuple(scene.run("small", name, 1.0) for name in scene.NAMES[:4])
    measured = Measurements((*alone, *scene.measured(["small"], triples=4).runs))
    trained = train(measured, scene.table(), kinds=(BOOSTING, FOREST), separate=True)
    assert trained.errors.keys() == {BOOSTING, FOREST}
    assert np.isfinite(list(trained.errors.values())).all()
