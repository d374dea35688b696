"""Files of predictors: what was saved is what is loaded, and nothing else is loaded."""

import json
import pickle
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save
from sklearn.linear_model import LinearRegression

import slowdown_scene as scene
from catalog.errors import ArtifactError, ConfigError
from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.features.tree_features import TreeFeatures
from predictor.kinds import BOOSTING, FOREST, GAUSSIAN_PROCESS, KINDS
from predictor.model_card import ModelCard
from predictor.model_file import FILE, Model, load, loads
from predictor.models.gaussian_process import GaussianProcess
from predictor.models.trees import Trees
from predictor.training import fit

CARD = ModelCard("some", ("small",), scene.NAMES, (2, 3), 30, 0.25, {"forest": 0.5}, 1.5)
ASKED = [
    Configuration("small", ("v0", "v3")),
    Configuration("small", ("v6", "v6", "v1")),
    Configuration("elsewhere", ("v2", "nobody")),
    Configuration("small", ("v2",)),
]


class Foreign:
    """Of a type that no predictor has."""


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    """One of each kind."""
    examples = examples_of(scene.measured(["small"], triples=3))
    made = {kind: fit(examples, scene.table(["small"]), kind) for kind in KINDS}
    return {kind: Model(each, replace(CARD, kind=kind)) for kind, each in made.items()}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def contents(models: dict[str, Model]) -> dict[str, bytes]:
    """Their files."""
    return {kind: model.to_bytes() for kind, model in models.items()}


def parts(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays, and what stands beside them."""
    length = int.from_bytes(content[:8], "little")
    return read_arrays(content), json.loads(json.loads(content[8 : 8 + length])["__metadata__"][FILE.key])


def with_header(content: bytes, **changes: Any) -> bytes:
    arrays, header = parts(content)
    made: bytes = save(arrays, {FILE.key: json.dumps(header | changes)})
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_loaded_predicts_the_same_and_has_the_same_card(
    models: dict[str, Model], kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "folder" / "model.safetensors"
    models[kind].save(path)
    loaded, fitted = load(path), models[kind].predictor
    assert loaded.card == replace(CARD, kind=kind)
    assert type(loaded.predictor) is type(fitted)
    np.testing.assert_array_equal(loaded.predictor.slowdowns(ASKED), fitted.slowdowns(ASKED))
    np.testing.assert_array_equal(loaded.predictor.predict(ASKED).deviation, fitted.predict(ASKED).deviation)
    assert [each.name for each in path.parent.iterdir()] == ["model.safetensors"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_a_changed_byte_is_refused_wherever_it_is(contents: dict[str, bytes], kind: str) -> None:
    content = contents[kind]
    length = 8 + int.from_bytes(content[:8], "little")
    places = [0, 9, length // 2, length - 20, length, length + 7, (length + len(content)) // 2, len(content) - 1]
    for place in places:
        broken = bytearray(content)
        broken[place] ^= 0x15
        with pytest.raises(ArtifactError, match=r"train (one with `accord interference train`|it anew)"):
            loads(bytes(broken), "a test")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_ends_too_early_is_refused(contents: dict[str, bytes], kind: str) -> None:
    content = contents[kind]
    for size in (0, 4, 8, 100, len(content) // 2, len(content) - 1):
        with pytest.raises(ArtifactError, match=r"cannot read the interference predictor a test: .*; train one with"):
            loads(content[:size], "a test")


def test_a_foreign_file_is_refused(contents: dict[str, bytes]) -> None:
    foreign = save({"weights": np.zeros(3)}, {"format": "pt"})
    with pytest.raises(ArtifactError, match="x holds no interference predictor of Accord; give a file that"):
        loads(foreign, "x")
    with pytest.raises(ArtifactError, match="x holds no interference predictor of Accord; give a file that"):
        loads(save({"weights": np.zeros(3)}), "x")


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(ArtifactError, match="cannot read the interference predictor"):
        load(path)
    assert not (tmp_path / "sprung").exists()


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> Any:
        return Path.mkdir, (self._folder,)


def test_a_file_that_is_not_there_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"cannot read .*none.safetensors: .*; train one with `accord interference"):
        load(tmp_path / "none.safetensors")


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_version_is_refused(contents: dict[str, bytes], version: Any) -> None:
    with pytest.raises(ArtifactError, match=f"x has version {version!r} of the format, this Accord reads 1; train it"):
        loads(with_header(contents[FOREST], version=version), "x")


def test_a_changed_card_is_refused(contents: dict[str, bytes]) -> None:
    _, header = parts(contents[GAUSSIAN_PROCESS])
    changed = header["described"].replace('"small"', '"large"')
    assert changed != header["described"]
    with pytest.raises(ArtifactError, match=r"x is damaged .*its checksum does not fit its content.*; train it anew"):
        loads(with_header(contents[GAUSSIAN_PROCESS], described=changed), "x")


@pytest.mark.parametrize("header", ["[]", "1", '"text"', "{}", "not even JSON"])
def test_a_header_that_is_none_of_ours_is_refused(header: str) -> None:
    with pytest.raises(ArtifactError, match="train it anew"):
        loads(save({"points": np.zeros((1, 1))}, {FILE.key: header}), "x")


@pytest.mark.parametrize(
    ("kind", "array", "value"),
    [
        (FOREST, "children_left", 10**6),
        (FOREST, "children_left", 0),
        (FOREST, "children_right", -1),
        (FOREST, "feature", 999),
        (BOOSTING, "children_right", 10**6),
        (BOOSTING, "feature", 999),
    ],
)
def test_a_tree_that_points_to_what_is_not_there_is_refused(
    models: dict[str, Model], kind: str, array: str, value: int
) -> None:
    """The checksum fits: whoever made the file meant it."""
    trees = deepcopy(models[kind].predictor)
    assert isinstance(trees, Trees)
    member = trees.ensemble.estimators_[3]
    tree = member if kind == FOREST else member.estimators_[2, 0]
    getattr(tree.tree_, array)[0] = value
    tree.n_features_in_ = 1000  # nor is what it says of itself believed
    with pytest.raises(ArtifactError, match=r"points to nodes or features that are not there.*; train it anew"):
        loads(Model(trees, CARD).to_bytes(), "x")


def test_what_is_no_ensemble_of_trees_is_refused(models: dict[str, Model]) -> None:
    fitted = LinearRegression().fit(np.eye(3), np.ones(3))
    with pytest.raises(ArtifactError, match=r"LinearRegression, which is no ensemble of trees.*; train it anew"):
        loads(Model(Trees(features_of(models), fitted), CARD).to_bytes(), "x")


def test_a_type_that_skops_does_not_trust_is_refused_by_name(models: dict[str, Model]) -> None:
    with pytest.raises(ArtifactError, match=r"Foreign, which no predictor needs.*; train it anew"):
        loads(Model(Trees(features_of(models), Foreign()), CARD).to_bytes(), "x")


def features_of(models: dict[str, Model]) -> TreeFeatures:
    predictor = models[FOREST].predictor
    assert isinstance(predictor, Trees)
    return predictor.features


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"slowdown": np.ones(3)}, "slowdown has the shape"),
        ({"points": np.full((7, 3), np.nan)}, "points has (the shape|values that are no finite numbers)"),
        ({"slowdown": None}, "not above 0"),
    ],
)
def test_a_process_that_cannot_be_one_is_refused(
    models: dict[str, Model], changes: dict[str, Any], complaint: str
) -> None:
    process = models[GAUSSIAN_PROCESS].predictor
    assert isinstance(process, GaussianProcess)
    wrong = replace(process, **{name: -process.slowdown if array is None else array for name, array in changes.items()})
    with pytest.raises(ArtifactError, match=f"{complaint}.*; train it anew"):
        loads(Model(wrong, CARD).to_bytes(), "x")


def test_where_nothing_can_be_written_another_path_is_asked_for(models: dict[str, Model], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way of a folder")
    with pytest.raises(ConfigError, match=r"cannot write .*; make room, or give another path"):
        models[FOREST].save(tmp_path / "file" / "model.safetensors")
