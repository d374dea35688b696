"""Tensors to bytes and back, against struct, numpy and ml_dtypes."""

import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from catalog.errors import BadRequest
from catalog.tensor import DTYPES, TensorSpec
from serve_app.oip.raw_tensors import from_raw, to_raw

NUMBERS = [name for name in DTYPES if name not in ("BYTES", "BF16", "BOOL")]
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)


def spec(datatype: str, dims: int = 1) -> TensorSpec:
    return TensorSpec("x", datatype, (-1, *([4] * (dims - 1))))


@given(st.sampled_from(NUMBERS), SHAPES, st.integers(0, 7), st.data())
def test_numbers_survive_both_ways_bit_for_bit_at_any_address(
    datatype: str, shape: tuple[int, ...], offset: int, data: st.DataObject
) -> None:
    array = data.draw(hnp.arrays(DTYPES[datatype], shape))
    raw = bytes(to_raw(array, spec(datatype)))
    assert raw == array.astype(DTYPES[datatype].newbyteorder("<")).tobytes()
    read = from_raw(memoryview(b"." * offset + raw)[offset:], shape, spec(datatype))
    assert (read.dtype, read.shape) == (array.dtype, shape)
    assert read.tobytes() == array.tobytes()
    assert read.flags.aligned
    assert read.flags.writeable


@given(st.lists(st.booleans()))
def test_a_bool_is_a_byte_and_any_that_is_not_zero_is_true(values: list[bool]) -> None:
    array = np.array(values, dtype=np.bool_)
    assert bytes(to_raw(array, spec("BOOL"))) == bytes(values)
    read = from_raw(bytes(7 * each for each in values), [len(values)], spec("BOOL"))
    assert (read.dtype, read.tolist()) == (np.bool_, values)


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)))))
def test_texts_stand_behind_their_lengths(texts: list[str]) -> None:
    raw = b"".join(struct.pack("<I", len(each.encode())) + each.encode() for each in texts)
    assert to_raw(np.array(texts, dtype=object), spec("BYTES")) == raw
    assert from_raw(memoryview(raw), [len(texts)], spec("BYTES")).tolist() == texts


@given(st.lists(st.binary(max_size=9)))
def test_any_bytes_come_back_as_they_were_and_are_text_where_they_are_utf_8(elements: list[bytes]) -> None:
    raw = b"".join(struct.pack("<I", len(each)) + each for each in elements)
    read = from_raw(raw, [len(elements)], spec("BYTES"))
    for given_as, element in zip(read.tolist(), elements, strict=True):
        try:
            assert given_as == element.decode()
        except UnicodeDecodeError:
            assert given_as == element
    assert to_raw(read, spec("BYTES")) == raw


def test_outputs_of_numpy_strings_and_of_bytes_are_texts_too() -> None:
    expected = struct.pack("<I2sI1s", 2, b"ab", 1, b"c")
    assert to_raw(np.array(["ab", "c"]), spec("BYTES")) == expected
    assert to_raw(np.array([b"ab", b"c"], dtype=object), spec("BYTES")) == expected


@given(hnp.arrays(np.float32, hnp.array_shapes(max_dims=1, max_side=50)))
def test_bf16_is_rounded_as_others_round_it_and_read_exactly(array: np.ndarray[Any, Any]) -> None:
    theirs = array.astype(ml_dtypes.bfloat16)
    ours = np.frombuffer(to_raw(array, spec("BF16")), "<u2").view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(ours.astype(np.float32), theirs.astype(np.float32))
    read = from_raw(theirs.tobytes(), array.shape, spec("BF16"))
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, theirs.astype(np.float32))


def test_an_array_that_lies_otherwise_in_memory_goes_in_row_major_order() -> None:
    array = np.arange(8, dtype=np.float32).reshape(2, 4)[:, ::-1]
    assert bytes(to_raw(array, spec("FP32", 2))) == np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize(
    ("datatype", "raw", "message"),
    [
        ("FP32", b"1234567", r"has 7 bytes; FP32 of shape \[2\] has 8"),
        ("BOOL", b"123", r"has 3 bytes; BOOL of shape \[2\] has 2"),
        ("BF16", b"123", r"has 3 bytes; BF16 of shape \[2\] has 4"),
        ("BYTES", b"\4\0\0\0abcd", "has 8 bytes, which end before element 1"),
        ("BYTES", b"", "has 0 bytes; 2 elements have 4 each at least"),
        ("BYTES", b"\1\0\0\0a\xff\xff\xff\xffb", "element 1 ends behind the 10 bytes"),
        ("BYTES", b"\1\0\0\0a\1\0\0\0b!", "has 11 bytes; its 2 elements end after 10"),
    ],
)
def test_bytes_that_are_not_the_tensor_are_refused(datatype: str, raw: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        from_raw(raw, [2], spec(datatype))


def test_no_memory_is_taken_for_elements_that_are_only_claimed() -> None:
    with pytest.raises(BadRequest, match="has 4 bytes; 1000000000000000 elements"):
        from_raw(b"\0\0\0\0", [1, 10**15], TensorSpec("x", "BYTES", (-1, -1)))
