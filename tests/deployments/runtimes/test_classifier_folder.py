"""Folders of transformers that are no classifier of one class, or lack what makes their answers mean anything."""

import json
import shutil
from dataclasses import replace

import pytest
from bert_scene import VARIANT, build_model, build_tokenizer, save
from transformers import BertConfig, BertForSequenceClassification

from catalog.errors import ArtifactError, ConfigError
from catalog.tensor import TensorSpec
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.registry import create
from serve_app.cli.init.reading.model import read_model


@pytest.fixture(scope="module")
def model():
    return build_model()


@pytest.fixture(scope="module")
def artifact(model, tmp_path_factory):
    return save(model, tmp_path_factory.mktemp("bert"))


def with_config(artifact, folder, **changes):
    """A copy of the folder with these changes of its config."""
    shutil.copytree(artifact, folder)
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(content | changes))
    return folder


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"problem_type": "multi_label_classification"}, "tells of each class whether a text is of it"),
        ({"problem_type": "regression"}, "gives numbers, no class"),
    ],
)
def test_a_model_that_does_not_choose_one_class_is_refused(artifact, tmp_path, changes, words):
    folder = with_config(artifact, tmp_path / "other", **changes)
    with pytest.raises(ArtifactError, match=rf"other {words}.*write a class of your own around it"):
        create(VARIANT, folder, RuntimeOptions()).load()
    with pytest.raises(ConfigError, match=rf"other {words}.*write a class of your own around it"):
        read_model(folder, {})


def test_a_model_of_one_number_is_no_classifier(model, tmp_path):
    one = BertForSequenceClassification(BertConfig(**{**model.config.to_dict(), "id2label": {0: "score"}}))
    build_tokenizer().save_pretrained(tmp_path)
    one.save_pretrained(tmp_path)
    outputs = (VARIANT.outputs[0], TensorSpec("probabilities", "FP32", (-1, 1)))
    with pytest.raises(ArtifactError, match="gives numbers, no class"):
        create(replace(VARIANT, outputs=outputs, labels=()), tmp_path, RuntimeOptions()).load()
    with pytest.raises(ConfigError, match="gives numbers, no class"):
        read_model(tmp_path, {})


def test_a_folder_without_a_tokenizer_is_refused(model, tmp_path):
    model.save_pretrained(tmp_path)
    words = "has no tokenizer \\(tokenizer.json, vocab.txt\\), so that every word would be unknown"
    with pytest.raises(ArtifactError, match=words):
        create(VARIANT, tmp_path, RuntimeOptions()).load()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (
            {1: "a", 2: "b", 3: "c"},
            "names 3 classes, without the number 0; it has 1, 2, 3; number them from 0 to 2",
        ),
        ({0: "a", 2: "b", 5: "c"}, "names 3 classes, without the number 1; it has 0, 2, 5"),
        ({0: "a", 1: "b", 2: "a"}, "has 'a' for the classes 0, 2; give each a name of its own"),
    ],
)
def test_names_of_classes_are_numbered_from_0_without_gaps_and_differ(artifact, tmp_path, names, words):
    folder = with_config(artifact, tmp_path / "other", id2label=names, label2id=dict.fromkeys(names.values(), 0))
    with pytest.raises(ConfigError, match=words):
        read_model(folder, {})
