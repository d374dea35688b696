"""Texts to token ids, as models of text take them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from catalog.texts.token_estimate import characters_for

Ids = NDArray[np.int64]


class TextTokenizer:
    """A ``tokenizer.json`` of the `tokenizers` library; texts are cut after ``max_length`` tokens.

    Of a text the first `characters_for` so many tokens are looked at, however long it is. It is padded to the longest
    of its batch, with the pad token that the file names, 0 where it names none. Raises whatever the library raises for
    a file that is none of its own.
    """

    def __init__(self, path: Path, max_length: int) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))
        padding = self._tokenizer.padding
        self._pad_id = 0 if padding is None else int(padding["pad_id"])
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length)
        self._characters = characters_for(max_length)

    def __call__(self, texts: Sequence[str]) -> tuple[Ids, Ids]:
        """Token ids and attention mask (1 for tokens, 0 for padding), both [texts, longest], at least one wide."""
        rows = self.ids(texts)
        longest = max(1, max(map(len, rows), default=1))
        ids = np.full((len(rows), longest), self._pad_id, dtype=np.int64)
        mask = np.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        return ids, mask

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, without padding."""
        # one by one: the library's batches take a pool of threads of their own, whatever a worker may use
        return [self._tokenizer.encode(text[: self._characters]).ids for text in texts]
