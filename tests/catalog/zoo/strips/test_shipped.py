"""The shipped models and the file of combinations are what the catalogue says."""

import csv
import io
from itertools import pairwise, product
from pathlib import Path

import pytest

from catalog.catalogue import Catalogue, load_catalogue
from catalog.profiles.profiler import sample_inputs
from catalog.store import FsspecStore
from catalog.variant import Variant
from catalog.zoo.session import session
from catalog.zoo.strips.checkers import GRAPHS
from catalog.zoo.strips.evaluate import ACCURACY, STAGES, Combination, measure, write
from catalog.zoo.strips.finders import RECIPES
from catalog.zoo.strips.layout import CHECK, FIND
from catalog.zoo.strips.measures import checker_accuracy, finder_accuracy, measured_strips

_ZOO = load_catalogue("builtin")
_OWN = (*_ZOO.of_task(FIND), *_ZOO.of_task(CHECK))
_VARIANTS = pytest.mark.parametrize("variant", _OWN, ids=lambda variant: variant.name)


def fetched(variant: Variant) -> Path:
    """The shipped file, its checksum verified."""
    return FsspecStore(_ZOO.root, Path("unused")).fetch(variant.artifact)


@pytest.fixture(scope="module")
def recorded() -> dict[Combination, float]:
    with ACCURACY.open(encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert header == ["find", "read", "check", "accuracy"]
    found = {(find, read, check): float(accuracy) for find, read, check, accuracy in lines}
    assert len(found) == len(lines)
    return found


def test_the_catalogue_has_every_recipe_and_every_graph_once() -> None:
    assert [variant.name for variant in _ZOO.of_task(FIND)] == [recipe.name for recipe in RECIPES]
    assert [variant.name for variant in _ZOO.of_task(CHECK)] == list(GRAPHS)


@_VARIANTS
def test_every_variant_names_a_checksum_that_its_file_has(variant: Variant) -> None:
    assert variant.artifact.sha256 is not None
    assert b"site-packages" not in fetched(variant).read_bytes(), "files tell nothing of the machine that made them"


@_VARIANTS
@pytest.mark.parametrize("rows", [1, 3])
def test_every_variant_gives_the_tensors_that_it_declares(variant: Variant, rows: int) -> None:
    model = session(fetched(variant))
    given = model.run([spec.name for spec in variant.outputs], sample_inputs(variant.inputs, rows, 1))
    assert [(array.shape, array.dtype) for array in given] == [
        ((rows, *spec.item_shape), spec.dtype) for spec in variant.outputs
    ]


@_VARIANTS
def test_onnxruntime_finds_the_accuracy_that_the_catalogue_states(variant: Variant) -> None:
    measured = finder_accuracy if variant.task == FIND else checker_accuracy
    assert 100 * measured(fetched(variant)) == pytest.approx(variant.accuracy_pct, abs=0.2)


@pytest.mark.parametrize(("task", "points"), [(FIND, 0.3), (CHECK, 1.0)])
def test_every_rung_is_more_accurate_than_the_one_before(task: str, points: float) -> None:
    accuracies_pct = [variant.accuracy_pct for variant in _ZOO.of_task(task)]
    assert all(high - low >= points for low, high in pairwise(accuracies_pct))
    assert accuracies_pct[-1] - accuracies_pct[0] >= 10


def test_all_new_files_together_stay_below_one_and_a_half_megabytes() -> None:
    assert sum(fetched(variant).stat().st_size for variant in _OWN) + ACCURACY.stat().st_size < 1.5e6


def test_every_combination_has_its_accuracy(recorded: dict[Combination, float]) -> None:
    names = [[variant.name for variant in _ZOO.of_task(task)] for task in STAGES.values()]
    assert set(recorded) == set(product(*names))


def test_the_best_combination_beats_the_cheapest_by_far(recorded: dict[Combination, float]) -> None:
    first, last = (tuple(_ZOO.of_task(task)[index].name for task in STAGES.values()) for index in (0, -1))
    find, read, check = last
    assert recorded[find, read, check] >= max(recorded.values()) - 0.01
    assert recorded[find, read, check] - recorded[first[0], first[1], first[2]] >= 0.3


def test_combinations_are_measured_again_as_they_are_recorded(recorded: dict[Combination, float]) -> None:
    cheap = ("digits-mlp", "digits-cnn-s")
    found = tuple(v for v in _ZOO.variants if v.name in cheap or (v.task, v.name) != (FIND, RECIPES[-1].name))
    some = Catalogue(tuple(v for v in found if v.task != "digits" or v.name in cheap), _ZOO.root)
    measured = dict(measure(some, measured_strips("dev")))
    assert len(measured) == (len(RECIPES) - 1) * len(cheap) * len(GRAPHS)
    assert measured == pytest.approx({key: recorded[key] for key in measured}, abs=0.002)


def test_a_line_is_written_for_each_combination() -> None:
    file = io.StringIO()
    write(iter([(("a", "b", "c"), 0.5), (("a", "b", "d"), 2 / 3)]), file)
    assert file.getvalue() == "find,read,check,accuracy\na,b,c,0.5000\na,b,d,0.6667\n"
