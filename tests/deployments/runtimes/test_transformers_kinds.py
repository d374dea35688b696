"""Classifiers that are not like BERT: without special tokens, and with positions counted from behind the padding."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import (
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes.base import ModelRuntime, RuntimeOptions
from deployments.runtimes.registry import create

VARIANT = Variant(
    name="v",
    task="t",
    runtime="transformers",
    artifact=Artifact("v"),
    accuracy=0.5,
    inputs=(TensorSpec("text", "BYTES", (-1,)),),
    outputs=(TensorSpec("label", "INT64", (-1,)), TensorSpec("probabilities", "FP32", (-1, 3))),
)
WORDS = ["[PAD]", "[UNK]", "the", "film", "was", "good", "bad", "very"]


def saved(folder: Path, model: Any, padding_side: str = "right") -> ModelRuntime:
    words = Tokenizer(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]", padding_side=padding_side
    )
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    runtime = create(VARIANT, folder, RuntimeOptions())
    runtime.load()
    return runtime


def probabilities(runtime: ModelRuntime, *texts: str) -> Any:
    return runtime.run({"text": np.array(texts, dtype=object)})["probabilities"]


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_classifier_without_special_tokens_takes_empty_texts(tmp_path: Path, side: str) -> None:
    torch.manual_seed(3)
    config = GPT2Config(
        vocab_size=len(WORDS), n_positions=16, n_embd=8, n_layer=1, n_head=2, num_labels=3, pad_token_id=0
    )
    runtime = saved(tmp_path, GPT2ForSequenceClassification(config).eval(), side)
    assert np.isfinite(probabilities(runtime, "", "")).all()
    together = probabilities(runtime, "", "the film was good")
    assert np.isfinite(together).all()
    np.testing.assert_allclose(together[1], probabilities(runtime, "the film was good")[0], rtol=1e-4, atol=1e-6)


def test_positions_that_are_counted_from_behind_the_padding_are_fewer(tmp_path: Path) -> None:
    config = RobertaConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=18,
        pad_token_id=1,
        num_labels=3,
    )
    torch.manual_seed(3)
    runtime = saved(tmp_path, RobertaForSequenceClassification(config).eval())
    longest = probabilities(runtime, " ".join(["good"] * 16))
    np.testing.assert_allclose(probabilities(runtime, " ".join(["good"] * 40)), longest, rtol=1e-4)
