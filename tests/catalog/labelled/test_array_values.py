"""Values in arrays that a datatype has no room for, or has: labelled data take what the service takes."""

from pathlib import Path

import numpy as np
import pytest

from catalog.errors import ConfigError
from catalog.labelled.labelled_data import read_data
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant


def variant(spec: TensorSpec) -> Variant:
    outputs = (TensorSpec("label", "INT64", (-1,)),)
    return Variant("v", "t", "onnx", Artifact("v.onnx"), 0.5, (spec,), outputs, ("no", "yes"))


def test_what_is_no_number_is_taken_where_the_model_takes_it(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.array([np.nan, np.inf]), label=np.array([0, 1]))
    of = variant(TensorSpec("x", "FP32", (-1,), allow_nan=True))
    assert not np.isfinite(read_data(str(tmp_path / "d.npz"), of).inputs["x"]).any()


def test_numbers_that_are_neither_true_nor_false_are_refused_in_arrays_as_in_requests(tmp_path: Path) -> None:
    of, label = variant(TensorSpec("on", "BOOL", (-1, 2))), np.array([0, 1])
    for good in (np.array([[True, False], [False, True]]), np.array([[1, 0], [0.0, 1.0]])):
        np.savez(tmp_path / "good.npz", on=good, label=label)
        assert read_data(str(tmp_path / "good.npz"), of).inputs["on"].tolist() == [[True, False], [False, True]]
    for wrong in (2, 0.7, np.nan):
        np.savez(tmp_path / "bad.npz", on=np.array([[1, 0], [0, wrong]]), label=label)
        with pytest.raises(ConfigError, match=rf"column 'on': .*{wrong}.* does not fit BOOL"):
            read_data(str(tmp_path / "bad.npz"), of)
