"""The tokenizer of models over characters: one token per character."""

from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase, Replace, Sequence
from tokenizers.pre_tokenizers import Split

MAX_CHARACTERS = 512
"""Characters after which a text is cut."""

_PRINTABLE = [chr(code) for code in range(32, 127) if not chr(code).isupper()]


def character_tokenizer() -> Tokenizer:
    """Lower-case ASCII characters by number, one number for all others, with a space around the text; 0 is padding."""
    tokens = ["[PAD]", "[UNK]", *_PRINTABLE]
    tokenizer = Tokenizer(WordLevel({token: number for number, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = Sequence([Lowercase(), Replace(Regex(r"^\s*|\s*$"), " "), Replace(Regex(r"\s+"), " ")])
    tokenizer.pre_tokenizer = Split(Regex("."), "isolated")
    return tokenizer
