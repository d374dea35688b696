"""Tensor specifications refuse what cannot be stacked into batches."""

import numpy as np
import pytest
from pydantic import ValidationError

from catalog.tensor import DTYPES, TensorSpec


@pytest.mark.parametrize("datatype", DTYPES)
def test_every_oip_datatype_has_a_numpy_dtype(datatype: str) -> None:
    assert TensorSpec("x", datatype, (-1, 2)).dtype == DTYPES[datatype]


def test_an_unknown_datatype_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValidationError, match=r"unknown datatype 'FLOAT'; use one of BOOL, .*FP32"):
        TensorSpec("x", "FLOAT", (-1,))


@pytest.mark.parametrize("shape", [(), (1, 3), (3, -1)])
def test_a_shape_that_does_not_start_with_the_batch_axis_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match="must start with -1"):
        TensorSpec("x", "FP32", shape)


@pytest.mark.parametrize("shape", [(-1, 0), (-1, -2), (-1, 3, 0)])
def test_an_axis_without_a_size_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match="a size of at least 1, or -1 for any length"):
        TensorSpec("x", "FP32", shape)


def test_an_item_is_the_shape_without_the_batch_axis() -> None:
    spec = TensorSpec("x", "FP32", (-1, 3, 4))
    assert (spec.item_shape, spec.item_size) == ((3, 4), 12)


def test_a_tensor_without_further_axes_has_items_of_one_element() -> None:
    assert TensorSpec("x", "INT64", (-1,)).item_size == 1


def test_the_oip_form_holds_name_datatype_and_shape() -> None:
    assert TensorSpec("x", "INT8", (-1, 2)).oip() == {"name": "x", "datatype": "INT8", "shape": [-1, 2]}


def test_bytes_travel_as_objects() -> None:
    assert TensorSpec("x", "BYTES", (-1,)).dtype == np.dtype(object)
