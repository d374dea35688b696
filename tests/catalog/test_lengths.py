"""What a catalogue may declare of inputs of any length, and what is said of what it may not."""

import time
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from catalog.catalogue import Catalogue
from catalog.errors import BadRequest, ConfigError
from catalog.tensor import TensorSpec
from catalog.variant import Variant

IDS = {"name": "ids", "datatype": "INT64", "shape": [-1, -1]}
MASK = {"name": "mask", "datatype": "INT64", "shape": [-1, -1]}
TEXT = {"name": "text", "datatype": "BYTES", "shape": [-1]}
FIXED = {"name": "x", "datatype": "FP32", "shape": [-1, 4]}
LABEL = {"name": "label", "datatype": "INT64", "shape": [-1]}
TAGS = {"name": "tags", "datatype": "INT64", "shape": [-1, -1]}

_VARIANT = TypeAdapter(Variant)


def variant(inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], **changes: Any) -> Variant:
    entry = {"name": "v", "task": "t", "runtime": "onnx", "artifact": {"uri": "v.onnx"}, "accuracy": 0.5}
    return _VARIANT.validate_python(entry | {"inputs": inputs, "outputs": outputs} | changes)


@pytest.mark.parametrize(
    ("inputs", "outputs", "lengths", "message"),
    [
        ([IDS], [LABEL], None, r"input 'ids' has shape \[-1, -1\], an axis of any length; say how long it may be"),
        ([FIXED], [TAGS], None, r"output 'tags' has shape \[-1, -1\].* no input has one"),
        ([FIXED], [LABEL], {"longest": 8}, "no input has an axis of any length, and none is BYTES"),
        ([IDS], [LABEL], {"longest": 0}, "longest"),
        ([IDS], [LABEL], {"longest": 8, "typical": 9}, r"lengths.typical is 9, more than lengths.longest \(8\)"),
        ([IDS], [LABEL], {"longest": 8, "mask": "mask"}, "lengths.mask is 'mask', which must be an input .* ids"),
        ([MASK], [LABEL], {"longest": 8, "mask": "mask"}, "must be numbers or BOOL .* beside another input"),
        ([IDS], [LABEL], {"longest": 8, "padding": {"id": 1}}, "lengths.padding names 'id'; it may name .* ids"),
        ([IDS], [LABEL], {"longest": 8, "padding": {"ids": 0.5}}, "lengths.padding.ids is 0.5, which INT64 cannot"),
        ([TEXT], [TAGS], {"longest": 8}, "tokens of 'text' are counted only roughly"),
        ([{**IDS, "shape": [-1, -1, -1]}], [LABEL], {"longest": 8}, "one axis after the first may be of any length"),
        ([{**IDS, "shape": [-1, 0]}], [LABEL], {"longest": 8}, "a size of at least 1, or -1 for any length"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(
    inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], lengths: dict[str, Any] | None, message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        variant(inputs, outputs, lengths=lengths)


def test_variants_of_one_task_must_take_the_same_lengths() -> None:
    one, other = (variant([IDS], [LABEL], name=f"v{n}", lengths={"longest": n}) for n in (8, 9))
    with pytest.raises(ConfigError, match="'v8' and 'v9' both do task 't' but differ in lengths"):
        Catalogue((one, other), ".")


def test_a_typical_length_is_a_quarter_of_the_longest_where_none_is_declared() -> None:
    rules = [variant([IDS], [LABEL], lengths={"longest": longest}).length_rule for longest in (1, 3, 64)]
    assert [rule.lengths.typical_length for rule in rules if rule is not None] == [1, 1, 16]
    assert variant([FIXED], [LABEL]).length_rule is None


def test_a_query_is_as_long_as_its_first_input_and_the_mask_is_made_where_none_comes() -> None:
    rule = variant([MASK, FIXED, IDS], [TAGS], lengths={"longest": 8, "mask": "mask"}).length_rule
    assert rule is not None
    ids = {"ids": np.zeros((2, 5), np.int64), "x": np.zeros((2, 4), np.float32)}
    assert rule.length_of(ids) == 5
    rule.check(ids)
    masked = rule.with_mask(ids)
    assert masked["mask"].tolist() == [[1] * 5] * 2
    assert rule.with_mask(masked) is masked
    assert rule.optional == {"mask"}


@pytest.mark.parametrize(
    ("ids", "mask", "message"),
    [
        ((1, 9), None, "input 'ids' has length 9 on axis 1; send 1 to 8"),
        ((1, 0), None, "has length 0"),
        ((1, 5), (1, 4), "input 'mask' has length 4, and 'ids' has 5"),
    ],
)
def test_a_query_that_is_too_long_or_masked_wrong_is_refused(
    ids: tuple[int, ...], mask: tuple[int, ...] | None, message: str
) -> None:
    rule = variant([IDS, MASK], [LABEL], lengths={"longest": 8, "mask": "mask"}).length_rule
    assert rule is not None
    given = {"ids": np.zeros(ids, np.int64)} | ({} if mask is None else {"mask": np.zeros(mask, np.int64)})
    with pytest.raises(BadRequest, match=message):
        rule.check(given)


def test_texts_count_by_their_tokens_and_no_longer_than_they_are_cut() -> None:
    rule = variant([TEXT], [LABEL], lengths={"longest": 12}).length_rule
    assert rule is not None
    texts = [np.array(each, dtype=object) for each in (["a film"], ["a film", "a warm , funny film"], ["so " * 99])]
    assert [rule.length_of({"text": each}) for each in texts] == [4, 7, 12]


def test_a_text_of_megabytes_is_not_gone_through_for_its_tokens() -> None:
    rule = variant([TEXT], [LABEL], lengths={"longest": 12}).length_rule
    assert rule is not None
    began_s = time.thread_time()
    assert rule.length_of({"text": np.array(["so " * 5_000_000], dtype=object)}) == 12
    assert time.thread_time() - began_s < 0.1


def test_a_tensor_knows_which_items_are_its_own() -> None:
    spec = TensorSpec("x", "FP32", (-1, 3, -1))
    assert (spec.length_axis, spec.item_shape_at(7), spec.item_size) == (2, (3, 7), 3)
    assert spec.fits((3, 9))
    assert not spec.fits((4, 9))
    assert not spec.fits((3,))
    assert TensorSpec("x", "FP32", (-1, 3)).length_axis is None
