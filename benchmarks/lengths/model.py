"""A small transformer of random weights, as a folder of the transformers library, with a vocabulary of the texts."""

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import WordPieceTrainer
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from catalog.lengths import Lengths
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant

WIDTH, LAYERS, HEADS = 256, 4, 4
WORDS = 8000
POSITIONS = 512
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
CLASSES = 2
TEXT = "text"


def write_model(folder: Path, texts: Iterable[str], seed: int) -> Tokenizer:
    """Write model and tokenizer; gives the tokenizer."""
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    trainer = WordPieceTrainer(vocab_size=WORDS, special_tokens=list(SPECIAL), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
        max_position_embeddings=POSITIONS,
        num_labels=CLASSES,
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=POSITIONS,
    ).save_pretrained(folder)
    return tokenizer


def token_counts(tokenizer: Tokenizer, texts: Iterable[str]) -> list[int]:
    """How many tokens of each text the model runs: longer texts are cut."""
    return [min(len(tokenizer.encode(text).ids), POSITIONS) for text in texts]


def variant(max_batch: int, lengths: Lengths) -> Variant:
    """Its entry in a catalogue."""
    return Variant(
        name="bert",
        task="texts",
        runtime="transformers",
        artifact=Artifact("."),
        accuracy=0.5,
        inputs=(TensorSpec(TEXT, "BYTES", (-1,)),),
        outputs=(TensorSpec("label", "INT64", (-1,)), TensorSpec("probabilities", "FP32", (-1, CLASSES))),
        max_batch=max_batch,
        options={"max_length": lengths.longest},
        lengths=lengths,
    )
