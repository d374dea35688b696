"""A tiny BERT with a word tokenizer, to be saved as `save_pretrained` does."""

from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant

VARIANT = Variant(
    name="bert",
    task="t",
    runtime="transformers",
    artifact=Artifact("bert"),
    accuracy=0.5,
    inputs=(TensorSpec("text", "BYTES", (-1,)),),
    outputs=(TensorSpec("label", "INT64", (-1,)), TensorSpec("probabilities", "FP32", (-1, 3))),
    labels=("good", "bad", "odd"),
)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "film", "was", "good", "bad", "very", "long"]
POSITIONS = 32


def build_tokenizer() -> PreTrainedTokenizerFast:
    words = Tokenizer(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    words.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )


def build_model() -> BertForSequenceClassification:
    torch.set_num_threads(1)
    torch.manual_seed(5)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=POSITIONS,
        num_labels=3,
        initializer_range=1.0,  # probabilities far enough apart that a wrong row would show
    )
    return BertForSequenceClassification(config).eval()


def save(model: BertForSequenceClassification, folder: Path) -> Path:
    """The folder, with the model and its tokenizer."""
    build_tokenizer().save_pretrained(folder)
    model.save_pretrained(folder)
    return folder
