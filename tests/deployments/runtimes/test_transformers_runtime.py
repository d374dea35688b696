"""A tiny BERT with a word tokenizer, both saved here, against direct calls of the library."""

import contextlib
import json
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from bert_scene import POSITIONS, VARIANT, WORDS, build_model, build_tokenizer, save
from transformers import AutoTokenizer, BertModel

from catalog.errors import ArtifactError, ConfigError
from catalog.tensor import TensorSpec
from catalog.texts.token_estimate import characters_for
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.registry import create
from serve_app.cli.init.reading.model import read_model

TEXTS = np.array(["good", "the film was very very bad", "", "unheard words", "very " * 60], dtype=object)


@pytest.fixture(scope="module")
def model():
    return build_model()


@pytest.fixture(scope="module")
def artifact(model, tmp_path_factory):
    return save(model, tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def runtime(artifact):
    runtime = create(VARIANT, artifact, RuntimeOptions())
    runtime.load()
    yield runtime
    runtime.unload()


def expected(model, text: str, max_length: int = POSITIONS) -> np.ndarray:
    """Probabilities of one text alone, from token ids that are written out here: no padding, no tokenizer."""
    ids = [WORDS.index(word) if word in WORDS else 1 for word in text.split()][: max_length - 2]
    with torch.no_grad():
        return model(torch.tensor([[2, *ids, 3]])).logits.softmax(-1)[0].numpy()


def test_probabilities_equal_a_direct_call_with_padding_and_truncation(runtime, model):
    outputs = runtime.run({"text": TEXTS})
    wanted = np.stack([expected(model, text) for text in TEXTS])
    np.testing.assert_allclose(outputs["probabilities"], wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(outputs["label"], wanted.argmax(1))
    assert np.ptp(wanted, axis=0).max() > 0.05


def test_a_text_gives_the_same_alone_and_in_a_batch(runtime):
    together = runtime.run({"text": TEXTS})["probabilities"]
    for row in range(len(TEXTS)):
        alone = runtime.run({"text": TEXTS[row : row + 1]})["probabilities"][0]
        np.testing.assert_allclose(alone, together[row], rtol=1e-4, atol=1e-6)


def test_max_length_cuts_texts_shorter(artifact, model):
    runtime = create(replace(VARIANT, options={"max_length": 4}), artifact, RuntimeOptions())
    runtime.load()
    text = "the film was very good"
    given = runtime.run({"text": np.array([text], object)})["probabilities"][0]
    np.testing.assert_allclose(given, expected(model, text, 4), rtol=1e-4, atol=1e-6)
    assert np.abs(given - expected(model, text)).max() > 1e-3


def test_of_a_text_of_any_length_no_more_is_tokenised_than_is_kept(runtime, model):
    apart = np.array(["good" + " " * characters_for(POSITIONS) + "bad"], object)
    given = runtime.run({"text": apart})["probabilities"][0]
    np.testing.assert_allclose(given, expected(model, "good"), rtol=1e-4, atol=1e-6)


def test_a_tokenizer_that_keeps_the_end_of_a_text_gets_the_end(model, tmp_path):
    build_tokenizer().save_pretrained(tmp_path)
    settings = tmp_path / "tokenizer_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"truncation_side": "left"}))
    model.save_pretrained(tmp_path)
    runtime = create(VARIANT, tmp_path, RuntimeOptions())
    runtime.load()
    end = "very bad film " * 10  # all that is kept
    given = runtime.run({"text": np.array(["good " * 10_000 + end], object)})["probabilities"][0]
    np.testing.assert_allclose(given, expected(model, end), rtol=1e-4, atol=1e-6)


def test_only_the_outputs_of_the_catalogue_are_given(artifact):
    runtime = create(replace(VARIANT, outputs=VARIANT.outputs[:1]), artifact, RuntimeOptions())
    runtime.load()
    assert set(runtime.run({"text": TEXTS})) == {"label"}


def test_it_runs_only_between_load_and_unload_and_unload_frees_the_model(artifact):
    runtime = create(VARIANT, artifact, RuntimeOptions())
    with pytest.raises(RuntimeError, match=r"'bert' is not loaded; call load\(\)"):
        runtime.run({"text": TEXTS})
    runtime.load()
    weights = [weakref.ref(parameter) for parameter in runtime._model.parameters()]
    runtime.unload()
    runtime.unload()
    assert all(weight() is None for weight in weights)
    with pytest.raises(RuntimeError, match="not loaded"):
        runtime.run({"text": TEXTS})


def test_memory_follows_the_folder_and_then_the_weights(artifact, runtime, model):
    weights = (artifact / "model.safetensors").stat().st_size
    assert create(VARIANT, artifact, RuntimeOptions()).memory_bytes() >= weights
    elements = sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())
    assert elements <= runtime.memory_bytes() <= 1.5 * elements


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": {"max_len": 4}}, r"unknown option 'max_len'; runtime 'transformers' knows max_length"),
        ({"options": {"max_length": 0}}, r"max_length is 0; give a number of tokens"),
        ({"options": {"max_length": "8"}}, r"max_length is '8'; give a number of tokens"),
        (
            {"inputs": (TensorSpec("x", "FP32", (-1, 4)),)},
            r"takes one BYTES input of shape \[-1\], not x FP32 \[-1, 4\]",
        ),
    ],
)
def test_a_variant_that_it_cannot_take_is_refused_when_created(artifact, change, message):
    with pytest.raises(ConfigError, match=message):
        create(replace(VARIANT, **change), artifact, RuntimeOptions())


def test_a_max_length_beyond_the_model_is_refused(artifact):
    runtime = create(replace(VARIANT, options={"max_length": 33}), artifact, RuntimeOptions())
    with pytest.raises(ConfigError, match=r"max_length is 33, but .* takes at most 32 tokens"):
        runtime.load()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ("yes", "no")}, r"has 2 labels in the catalogue, but .* tells 3 classes apart"),
        ({"outputs": (TensorSpec("logits", "FP32", (-1, 3)),)}, r"should give logits .* gives label, probabilities"),
        ({"outputs": (TensorSpec("label", "INT32", (-1,)),)}, r"should give label INT32 .* gives label int64\[2\]"),
        (
            {"outputs": (TensorSpec("probabilities", "FP32", (-1, 2)),)},
            r"\[-1, 2\].* gives probabilities float32\[2, 3",
        ),
    ],
)
def test_tensors_other_than_the_catalogue_says_are_reported_at_load(artifact, change, message):
    runtime = create(replace(VARIANT, **change), artifact, RuntimeOptions())
    with pytest.raises(ArtifactError, match=message):
        runtime.load()
    with pytest.raises(RuntimeError, match="not loaded"):
        runtime.run({"text": TEXTS})


def test_a_folder_without_the_classifier_head_is_refused(model, tmp_path):
    build_tokenizer().save_pretrained(tmp_path)
    BertModel(model.config).save_pretrained(tmp_path)
    with pytest.raises(ArtifactError, match=r"has no usable weights for .*classifier\.weight"):
        create(VARIANT, tmp_path, RuntimeOptions()).load()


def test_corrupt_weights_are_named_with_the_reason_on_one_line(model, tmp_path):
    build_tokenizer().save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"junk" * 30)
    with pytest.raises(ArtifactError, match=f"'bert': cannot load {tmp_path.name}: ") as raised:
        create(VARIANT, tmp_path, RuntimeOptions()).load()
    assert "\n" not in str(raised.value)


def test_an_empty_folder_and_a_missing_one_are_refused_without_asking_a_hub(tmp_path):
    with pytest.raises(ArtifactError, match="cannot load"):
        create(VARIANT, tmp_path, RuntimeOptions()).load()
    with pytest.raises(ArtifactError, match=r"none is no folder; fetch it first"):
        create(VARIANT, tmp_path / "none", RuntimeOptions()).load()


def test_the_saved_tokenizer_is_read_back_as_it_was(artifact):
    assert AutoTokenizer.from_pretrained(artifact)("the film")["input_ids"] == [2, 4, 5, 3]


def test_loading_and_running_print_nothing(artifact, capfd):
    runtime = create(VARIANT, artifact, RuntimeOptions())
    runtime.load()
    runtime.run({"text": TEXTS})
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_cuda_on_a_machine_without_it_is_refused_with_the_remedy(artifact):
    with pytest.raises(
        ConfigError, match=r"device 'cuda' was asked for, but .* sees 0 CUDA devices; set the device to"
    ):
        create(VARIANT, artifact, RuntimeOptions("cuda")).load()


def test_a_folder_that_brings_code_or_pickled_weights_is_refused_and_nothing_of_it_runs(model, tmp_path):
    build_tokenizer().save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    ran = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(ran)!r}, 'w')")
    for changes in (
        {"auto_map": {"AutoModelForSequenceClassification": "evil.Model", "AutoConfig": "evil.Config"}},
        {"auto_map": {"AutoModelForSequenceClassification": "evil.Model"}, "model_type": "unheard-of"},
    ):
        (tmp_path / "config.json").write_text(json.dumps(config | changes))
        made = create(VARIANT, tmp_path, RuntimeOptions())
        with contextlib.suppress(ArtifactError):  # a class of the library's own may serve instead
            made.load()
        assert not ran.exists()
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(ArtifactError, match="safetensors"):
        create(VARIANT, tmp_path, RuntimeOptions()).load()


def test_a_folder_says_what_it_takes_and_gives(artifact, tmp_path):
    described = read_model(artifact, {})
    assert (described.runtime, described.inputs[0].shape, described.inputs[0].datatype) == (
        "transformers",
        (-1,),
        "BYTES",
    )
    variant = replace(VARIANT, inputs=described.inputs, outputs=described.outputs, labels=described.labels)
    runtime = create(variant, artifact, RuntimeOptions())
    runtime.load()
    assert runtime.run({"text": TEXTS})["probabilities"].shape == (len(TEXTS), len(described.labels))
    (tmp_path / "config.json").write_text('{"model_type": "bert", "architectures": ["BertModel"]}')
    with pytest.raises(ConfigError, match=r"holds a BertModel, and runtime 'transformers' runs classifiers"):
        read_model(tmp_path, {})
