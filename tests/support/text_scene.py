"""A small stand-in for the pretrained encoder, and texts whose sentiment a model can learn in a second."""

import itertools
import random
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel

from catalog.zoo.sentiment.pretrained import HEADS, LAYERS, TOKENIZER, WEIGHTS

GOOD = ("fine", "warm", "funny", "moving")
BAD = ("dull", "cold", "stale", "boring")
NEUTRAL = ("the", "film", "is", "a", "story", "and", "with", "its", "cast")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WIDTH = 2 * HEADS


def small_bert(seed: int = 5) -> BertModel:
    """A BERT of the pretrained encoder's layers and heads, and of `WIDTH` only, with random weights."""
    torch.manual_seed(seed)
    words = len(SPECIAL + GOOD + BAD + NEUTRAL)
    config = BertConfig(
        vocab_size=words,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=2 * WIDTH,
        max_position_embeddings=128,
        initializer_range=0.5,  # outputs far enough apart that a wrong row would show
    )
    model = BertModel(config).eval()
    embeddings = model.embeddings.word_embeddings.weight
    embeddings.data = embeddings.data.half().float()  # as the graphs keep them
    return model


def word_tokenizer() -> Tokenizer:
    """Whole words of the texts here, between [CLS] and [SEP]."""
    vocabulary = {word: number for number, word in enumerate(SPECIAL + GOOD + BAD + NEUTRAL)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def write_small_pretrained(folder: Path) -> Path:
    """A folder like that of the pretrained encoder."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.contiguous() for name, tensor in small_bert().state_dict().items()}, folder / WEIGHTS)
    word_tokenizer().save(str(folder / TOKENIZER))
    return folder


def labelled(count: int, seed: int) -> list[tuple[str, str]]:
    """Texts and labels ``pan`` and ``praise``, by turns."""
    rng = random.Random(seed)
    pairs = []
    for words, label in itertools.islice(itertools.cycle([(BAD, "pan"), (GOOD, "praise")]), count):
        text = rng.choices(NEUTRAL, k=rng.randint(2, 8)) + rng.choices(words, k=2)
        rng.shuffle(text)
        pairs.append((" ".join(text), label))
    return pairs


def write_tsv(path: Path, pairs: list[tuple[str, str]]) -> Path:
    """A file of texts and labels."""
    path.write_text("".join(f"{text}\t{label}\n" for text, label in pairs), encoding="utf-8")
    return path
