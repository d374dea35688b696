"""Which outputs of a variant name a class."""

from dataclasses import replace

import pytest

from catalog.catalogue import load_catalogue
from catalog.tensor import TensorSpec
from catalog.variant import Variant
from dispatch.ensemble.ballots import Ballots
from serve_app.build.endpoints.ensembles import ballots_of, no_ballots

DIGITS = load_catalogue("builtin")
LABEL = TensorSpec("label", "INT64", (-1,))
SCORES = TensorSpec("scores", "FP32", (-1, 3))
EMBEDDING = TensorSpec("embedding", "FP32", (-1, 8))


def giving(*outputs: TensorSpec, labels: int = 0) -> Variant:
    return replace(DIGITS.variants[0], outputs=outputs, labels=tuple(map(str, range(labels))))


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        (giving(LABEL, labels=4), Ballots(4, "label")),
        (giving(SCORES), Ballots(3, label=None, scores="scores")),
        (giving(SCORES, LABEL, labels=3), Ballots(3, "label", "scores")),
        (giving(SCORES, LABEL), Ballots(3, "label", "scores")),
        (giving(TensorSpec("n", "UINT8", (-1,)), labels=2), Ballots(2, "n")),
        (giving(LABEL), None),
        (giving(LABEL, labels=1), None),
        (giving(SCORES, labels=4), None),
        (giving(SCORES, LABEL, labels=4), Ballots(4, "label")),
        (giving(EMBEDDING, SCORES, labels=3), Ballots(3, label=None, scores="scores")),
        (giving(EMBEDDING, LABEL, SCORES, labels=3), Ballots(3, "label", "scores")),
        (giving(EMBEDDING, SCORES), None),
        (giving(EMBEDDING, LABEL, SCORES), None),
        (giving(SCORES, replace(SCORES, name="logits"), labels=3), None),
        (giving(TensorSpec("value", "FP32", (-1, 1)), SCORES), Ballots(3, label=None, scores="scores")),
        (giving(TensorSpec("y", "FP32", (-1,)), labels=3), None),
        (giving(TensorSpec("y", "INT64", (-1, 3)), labels=3), None),
    ],
)
def test_a_class_is_named_by_a_label_by_scores_or_by_both(variant: Variant, expected: Ballots | None) -> None:
    assert ballots_of(variant) == expected


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        (giving(SCORES, labels=4), "scores has 3 columns, and there are 4 labels; correct one of the two"),
        (
            giving(EMBEDDING, SCORES),
            "each of embedding FP32 [-1, 8], scores FP32 [-1, 3] may be the scores of classes; give `labels:`, or list "
            "only one of them in `outputs:`",
        ),
        (
            giving(SCORES, replace(SCORES, name="logits"), labels=3),
            "each of scores FP32 [-1, 3], logits FP32 [-1, 3] may be the scores of classes; list only one of them in "
            "`outputs:`",
        ),
        (giving(TensorSpec("y", "FP32", (-1,)), labels=3), "none of them says a class; give an integer label"),
    ],
)
def test_where_no_output_names_a_class_the_words_say_why_and_what_to_do(variant: Variant, words: str) -> None:
    assert ballots_of(variant) is None
    assert words in no_ballots(variant)
