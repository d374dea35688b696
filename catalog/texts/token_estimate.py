"""About how many tokens a text has, without a tokenizer."""

import re

PIECE_CHARACTERS = 7
"""A word of up to so many letters is usually one token of a vocabulary of words and word pieces."""

SPECIAL_TOKENS = 2
"""Begin and end of a text."""

CHARACTERS_PER_TOKEN, LEAST_TOKENS = 64, 16
"""Texts have 4 to 6 characters a token in English, and rarely more than 10 in any language, spaces counted. So many are
looked at for each token that is kept, and for `LEAST_TOKENS` where fewer are."""

_pieces = re.compile(rf"\w{{1,{PIECE_CHARACTERS}}}|[^\w\s]").findall


def estimated_tokens(text: str) -> int:
    """Tokens that a vocabulary of English word pieces has for a text: its words, cut into pieces, and its signs.

    Costs microseconds where a tokenizer takes a hundred, and needs no file of the variant's. Letters that UTF-8 writes
    with three bytes or more count for a token each, as Chinese and Japanese ones mostly are.
    """
    count = len(_pieces(text)) + SPECIAL_TOKENS
    return count if text.isascii() else count + (len(text.encode("utf-8", "ignore")) - len(text)) // 2


def estimated_up_to(text: str, most: int) -> int:
    """`estimated_tokens`, and no more than ``most``; a text of any length costs no more than a long one.

    One piece ends within `PIECE_CHARACTERS` and the space before it, so that a text whose words lie one space apart has
    ``most`` pieces in the first ``most * (PIECE_CHARACTERS + 1)`` characters, or is no longer than these. Where words
    lie further apart the first `characters_for` are counted: runtimes tokenise no more of a text.
    """
    few = most * (PIECE_CHARACTERS + 1)
    count = estimated_tokens(text[:few])
    if count < most and len(text) > few:
        count = estimated_tokens(text[: characters_for(most)])
    return min(count, most)


def characters_for(tokens: int) -> int:
    """So many characters of a text have that many tokens, unless it is nearly all spaces or words of no language."""
    return CHARACTERS_PER_TOKEN * max(tokens, LEAST_TOKENS)
