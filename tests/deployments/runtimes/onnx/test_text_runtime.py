"""Texts through a tokenizer and an ONNX file, and what is said where they do not fit."""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from text_scene import small_bert, word_tokenizer

from catalog.errors import ArtifactError, ConfigError
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from catalog.zoo.sentiment.encoder_graph import encoder_model
from catalog.zoo.sentiment.pretrained import HEADS
from deployments.messages.worker import WorkerSpec
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.registry import create
from deployments.worker.worker import Worker

VARIANT = Variant(
    name="reader",
    task="t",
    runtime="text",
    artifact=Artifact("reader"),
    accuracy=0.5,
    inputs=(TensorSpec("text", "BYTES", (-1,)),),
    outputs=(TensorSpec("label", "INT64", (-1,)), TensorSpec("probabilities", "FP32", (-1, 3))),
)
TEXTS = np.array(["the film is fine", "", "a dull and stale story with a cold cast", "warm", "ünheard"], dtype=object)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    """A folder with the model, two layers and a random head, and its tokenizer."""
    folder = tmp_path_factory.mktemp("text") / "reader"
    folder.mkdir()
    weights = {name: tensor.numpy() for name, tensor in small_bert().state_dict().items()}
    rng = np.random.default_rng(3)
    weights["head.weight"] = rng.normal(size=(3, 24)).astype(np.float32)
    weights["head.bias"] = np.zeros(3, dtype=np.float32)
    onnx.save(encoder_model(weights, (0, 1), HEADS, "mean"), folder / "model.onnx")
    word_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def runtime(artifact):
    runtime = create(VARIANT, artifact, RuntimeOptions())
    runtime.load()
    yield runtime
    runtime.unload()


def test_a_result_does_not_depend_on_the_texts_beside_it(runtime) -> None:
    together = runtime.run({"text": TEXTS})
    assert together["probabilities"].shape == (5, 3)
    assert np.ptp(together["probabilities"], axis=0).max() > 0.1
    for index in range(len(TEXTS)):
        alone = runtime.run({"text": TEXTS[index : index + 1]})
        np.testing.assert_allclose(alone["probabilities"][0], together["probabilities"][index], atol=1e-5)
        assert alone["label"][0] == together["label"][index]


def test_only_the_outputs_of_the_catalogue_are_given(artifact) -> None:
    runtime = create(replace(VARIANT, outputs=VARIANT.outputs[:1]), artifact, RuntimeOptions())
    runtime.load()
    assert set(runtime.run({"text": TEXTS})) == {"label"}


def test_a_text_is_cut_after_max_length(artifact) -> None:
    short = create(replace(VARIANT, options={"max_length": 4}), artifact, RuntimeOptions())
    short.load()
    texts = np.array(["dull cold story", "dull cold film film film"], dtype=object)
    probabilities = short.run({"text": texts})["probabilities"]
    np.testing.assert_allclose(probabilities[0], probabilities[1], atol=1e-6)


async def test_a_worker_runs_texts(artifact, tmp_path) -> None:
    worker = Worker(WorkerSpec("cpu", "cpu", 1, (VARIANT,), str(artifact.parent), str(tmp_path)))
    result = await worker.run("reader", {"text": TEXTS})
    assert result.error is None
    assert result.outputs["label"].shape == (5,)
    profile = await worker.profile(VARIANT, budget_s=0.1)
    assert profile.by_batch[1].mean_ms > 0


def test_memory_is_that_of_the_folder(runtime, artifact) -> None:
    assert runtime.memory_bytes() >= (artifact / "model.onnx").stat().st_size


def test_running_without_loading_is_refused(artifact) -> None:
    with pytest.raises(RuntimeError, match="is not loaded"):
        create(VARIANT, artifact, RuntimeOptions()).run({"text": TEXTS})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"options": {"max_len": 3}}, "unknown option 'max_len'; runtime 'text' knows max_length"),
        ({"options": {"max_length": 0}}, "max_length is 0; give a number of tokens, at least 1"),
        ({"inputs": (TensorSpec("x", "FP32", (-1, 2)),)}, r"one BYTES input of shape \[-1\], not x FP32 \[-1, 2\]"),
    ],
)
def test_a_variant_that_does_not_fit_is_refused(artifact, change, words) -> None:
    with pytest.raises(ConfigError, match=words):
        create(replace(VARIANT, **change), artifact, RuntimeOptions())


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_that_lacks_a_file_is_named(artifact, tmp_path, missing) -> None:
    for file in artifact.iterdir():
        if file.name != missing:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(ArtifactError, match=f"no {missing} in .*; the artifact of runtime 'text' is a folder"):
        create(VARIANT, tmp_path, RuntimeOptions()).load()


def test_files_of_another_kind_are_refused(artifact, tmp_path) -> None:
    (tmp_path / "model.onnx").write_bytes((artifact / "model.onnx").read_bytes())
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ArtifactError, match=r"cannot load tokenizer\.json"):
        create(VARIANT, tmp_path, RuntimeOptions()).load()
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ArtifactError, match=r"cannot load model\.onnx"):
        create(VARIANT, tmp_path, RuntimeOptions()).load()


def test_outputs_that_the_model_lacks_are_named(artifact) -> None:
    other = replace(VARIANT, outputs=(TensorSpec("score", "FP32", (-1,)),))
    with pytest.raises(ArtifactError, match=r"names the outputs score, but model\.onnx has label, probabilities"):
        create(other, artifact, RuntimeOptions()).load()
