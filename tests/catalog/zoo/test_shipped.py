"""The shipped zoo is what its catalogue says."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from catalog.catalogue import load_catalogue
from catalog.store import FsspecStore
from catalog.variant import Variant
from catalog.zoo.digits import held_out
from catalog.zoo.networks import RECIPES

_ZOO = load_catalogue("builtin")
_DIGITS = _ZOO.of_task("digits")
_VARIANTS = pytest.mark.parametrize("variant", _DIGITS, ids=lambda variant: variant.name)


def fetched(variant: Variant) -> Path:
    """The shipped file, its checksum verified."""
    return FsspecStore(_ZOO.root, Path("unused")).fetch(variant.artifact)


def session(variant: Variant) -> onnxruntime.InferenceSession:
    """The shipped model on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(fetched(variant), options, providers=["CPUExecutionProvider"])


def test_the_accuracies_that_ship_are_those_of_the_models_that_ship() -> None:
    assert all(variant.measured is not None for variant in _DIGITS)
    assert _ZOO.outdated == {}


def test_the_zoo_holds_every_recipe_once() -> None:
    assert [variant.name for variant in _DIGITS] == [recipe.name for recipe in RECIPES]


@_VARIANTS
def test_every_variant_names_a_checksum_that_its_file_has(variant: Variant) -> None:
    assert variant.artifact.sha256 is not None
    assert b"site-packages" not in fetched(variant).read_bytes(), "files tell nothing of the machine that made them"


@_VARIANTS
def test_onnxruntime_finds_the_accuracy_that_the_catalogue_states(variant: Variant) -> None:
    images, labels = held_out()
    found, probabilities = session(variant).run(["label", "probabilities"], {"image": images})
    assert 100 * (found == labels).mean() == pytest.approx(variant.accuracy_pct, abs=0.1)
    assert np.array_equal(probabilities.argmax(axis=1), found)
    assert probabilities.sum(axis=1) == pytest.approx(1.0, abs=1e-4)


@_VARIANTS
def test_an_answer_does_not_depend_on_the_rest_of_the_batch(variant: Variant) -> None:
    images = held_out()[0][:3]
    model = session(variant)
    together = model.run(["probabilities"], {"image": images})[0]
    alone = [model.run(["probabilities"], {"image": images[row : row + 1]})[0][0] for row in range(3)]
    assert together == pytest.approx(np.array(alone), abs=1e-4)


def test_every_rung_is_at_least_half_a_point_more_accurate_than_the_one_before() -> None:
    accuracies_pct = [variant.accuracy_pct for variant in _DIGITS]
    assert all(high - low >= 0.5 for low, high in pairwise(accuracies_pct))
    assert accuracies_pct[-1] - accuracies_pct[0] >= 10


def test_all_models_together_stay_below_five_megabytes() -> None:
    assert sum(fetched(variant).stat().st_size for variant in _DIGITS) < 5e6
