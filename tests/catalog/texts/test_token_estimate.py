"""The estimate of tokens, against a real tokenizer of word pieces made here from English words."""

import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import WordPieceTrainer

from catalog import catalogue, errors, lengths, variant
from catalog.texts.token_estimate import characters_for, estimated_tokens, estimated_up_to

SENTENCES = [
    line.strip()
    for module in (catalogue, errors, lengths, variant)
    for line in Path(module.__file__).read_text(encoding="utf-8").splitlines()
    if line.strip().count(" ") > 4
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    made = Tokenizer(WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    trainer = WordPieceTrainer(vocab_size=3000, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False)
    made.train_from_iterator(SENTENCES, trainer)
    made.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return made


def test_estimates_follow_the_tokens_of_a_vocabulary_of_english_word_pieces(tokenizer: Tokenizer) -> None:
    tokens = [len(tokenizer.encode(text).ids) for text in SENTENCES]
    estimates = [estimated_tokens(text) for text in SENTENCES]
    assert statistics.correlation(tokens, estimates) > 0.9
    assert 0.8 < sum(estimates) / sum(tokens) < 1.25


def test_every_sign_and_long_words_count() -> None:
    assert estimated_tokens("") == 2
    assert estimated_tokens("a film") == 4
    assert estimated_tokens("well, no!") == 6
    assert estimated_tokens("unbelievable") == 4
    assert estimated_tokens("这部电影很好看") >= 7
    assert estimated_tokens("\ud800") >= 2


_WORDS = st.lists(st.text(st.characters(exclude_categories=["Zs", "Zl", "Zp", "Cc", "Cs"]), min_size=1))


@given(_WORDS, st.integers(1, 40), st.integers(1, 50))
def test_an_estimate_up_to_a_bound_is_the_estimate_or_the_bound(words: list[str], most: int, times: int) -> None:
    text = " ".join(words * times)
    assert estimated_up_to(text, most) == min(estimated_tokens(text), most)


def test_words_that_lie_far_apart_count_as_far_as_a_text_is_tokenised() -> None:
    apart = "film" + " " * 40
    assert estimated_up_to(apart * 64, 50) == 50
    assert estimated_up_to(apart * 64, 100) == 66
    assert estimated_up_to("film" + " " * characters_for(100) + "film " * 99, 100) == 3
