"""Texts as ids, padded to the longest of their batch."""

from pathlib import Path

import pytest
from text_scene import word_tokenizer

from catalog.texts.token_estimate import characters_for
from catalog.texts.tokens import TextTokenizer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    word_tokenizer().save(str(path))
    return path


def test_shorter_texts_are_padded_and_masked(file: Path) -> None:
    ids, mask = TextTokenizer(file, 16)(["the film is fine", "", "dull"])
    assert ids.shape == (3, 6)
    assert ids[1].tolist() == [2, 3, 0, 0, 0, 0]
    assert mask.sum(1).tolist() == [6, 2, 3]
    assert (mask == (ids != 0)).all()


def test_long_texts_are_cut_with_their_last_token_kept(file: Path) -> None:
    ids, _ = TextTokenizer(file, 5)(["the film is fine and warm"])
    assert ids.shape == (1, 5)
    assert ids[0, -1] == 3


def test_padding_is_the_pad_token_of_the_file(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    tokenizer.enable_padding(pad_id=1, pad_token="[UNK]", length=100)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ids, mask = TextTokenizer(tmp_path / "tokenizer.json", 16)(["film film", ""])
    assert ids[1].tolist() == [2, 3, 1, 1]
    assert mask[1].tolist() == [1, 1, 0, 0]


def test_no_tokens_are_one_place_of_padding(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    tokenizer.post_processor = None
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ids, mask = TextTokenizer(tmp_path / "tokenizer.json", 16)([""])
    assert ids.tolist() == [[0]]
    assert mask.tolist() == [[0]]


@pytest.mark.parametrize("max_length", [3, 16, 64])
def test_no_more_of_a_text_is_tokenised_than_has_the_tokens_that_are_kept(file: Path, max_length: int) -> None:
    tokenizer = TextTokenizer(file, max_length)
    near, far = ("film" + " " * (characters_for(max_length) + more) + "dull" for more in (-8, 0))
    assert tokenizer.ids([near, far]) == [tokenizer.ids(["film dull"])[0], tokenizer.ids(["film"])[0]]
    long = ["the film is fine and warm , " * 10_000, "a " * 100_000]
    whole = word_tokenizer()
    whole.enable_truncation(max_length)
    assert tokenizer.ids(long) == [whole.encode(text).ids for text in long]
