"""Batches of queries of different lengths through a real ONNX model: every query gets what it would get alone."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from length_scene import LONGEST, PADDING, rule, variant, write_model
from numpy.typing import NDArray

from catalog.errors import ArtifactError
from catalog.lengths import LengthRule, Lengths
from catalog.tensor import Arrays, TensorSpec
from catalog.variant import Variant
from deployments.router.stacking import stack, unstack
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.onnx.onnx_runtime import OnnxRuntime
from dispatch.query import Batch, Job, Query, StageKey

QUERIES = st.lists(st.tuples(st.integers(1, 3), st.integers(1, LONGEST)), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> OnnxRuntime:
    return loaded(tmp_path_factory.mktemp("masked"), masked=True)


def loaded(folder: Path, *, masked: bool) -> OnnxRuntime:
    path = write_model(folder / "spans.onnx", masked=masked)
    runtime = OnnxRuntime(variant(masked=masked), path, RuntimeOptions())
    runtime.load()
    return runtime


def batch(inputs: list[Arrays], by: LengthRule) -> Batch:
    jobs = []
    for number, own in enumerate(inputs):
        rows, length = len(next(iter(own.values()))), by.length_of(own)
        query = Query(number, "spans", 0.0, 1.0, rows, own, length=length)
        jobs.append(Job(number, query, 1.0, rows, own, length=length))
    rows, longest = sum(job.rows for job in jobs), max(job.length for job in jobs)
    return Batch(1, "w", StageKey("spans"), "spans", 0.9, tuple(jobs), rows, 0.0, length=longest)


def ids(rows: int, length: int, seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).integers(-50, 50, (rows, length)).astype(np.float32)


@given(QUERIES, st.lists(st.booleans(), min_size=8, max_size=8))
@settings(max_examples=60, deadline=None)
def test_everyone_gets_their_own_rows_at_their_own_length_whoever_shares_the_batch(
    masked: OnnxRuntime, drawn: list[tuple[int, int]], own_mask: list[bool]
) -> None:
    given_ids = [ids(rows, length, seed) for seed, (rows, length) in enumerate(drawn)]
    inputs: list[Arrays] = [{"ids": each} for each in given_ids]
    masks = [np.ones_like(each) for each in given_ids]
    for own, mask, gives in zip(inputs, masks, own_mask, strict=False):
        if gives:
            mask[:, 1::2] = 0
            own["mask"] = mask
    made = batch(inputs, rule())
    stacked = stack(made, rule())
    longest = max(length for _, length in drawn)
    assert {name: array.shape for name, array in stacked.items()} == dict.fromkeys(
        ("ids", "mask"), (made.rows, longest)
    )
    outputs = unstack(made, masked.run(stacked), rule())
    for own, mask, each in zip(given_ids, masks, outputs, strict=True):
        assert np.array_equal(each["doubled"], 2 * own)
        assert each["mean"] == pytest.approx((own * mask).sum(1) / mask.sum(1), rel=1e-4, abs=1e-4)


def test_without_a_mask_padding_would_be_part_of_the_answer(tmp_path: Path) -> None:
    runtime, own = loaded(tmp_path, masked=False), variant(masked=False)
    by = own.length_rule
    assert by is not None
    short, long = ids(1, 3, 1), ids(1, 9, 2)
    made = batch([{"ids": short}, {"ids": long}], by)
    outputs = unstack(made, runtime.run(stack(made, by)), by)
    assert np.array_equal(outputs[0]["doubled"], 2 * short)
    assert outputs[1]["mean"] == pytest.approx(long.mean(1), rel=1e-5)
    assert outputs[0]["mean"] == pytest.approx((short.sum(1) + 6 * PADDING) / 9, rel=1e-5)
    assert outputs[0]["mean"] != pytest.approx(short.mean(1), rel=1e-2)


def test_other_axes_and_tensors_are_padded_where_they_are_of_any_length_only() -> None:
    frames = TensorSpec("frames", "INT32", (-1, 2, -1, 3))
    words = TensorSpec("words", "BYTES", (-1, -1))
    kind = TensorSpec("kind", "INT64", (-1,))
    by = LengthRule.of(Lengths(longest=9, padding={"frames": -1}), (kind, frames, words), ())
    assert by is not None
    first: Arrays = {
        "kind": np.array([4]),
        "frames": np.ones((1, 2, 5, 3), np.int32),
        "words": np.array([["a", "b"]], dtype=object),
    }
    second: Arrays = {
        "kind": np.array([5, 6]),
        "frames": np.full((2, 2, 1, 3), 2, np.int32),
        "words": np.array([["c"], ["d"]], dtype=object),
    }
    stacked = stack(batch([first, second], by), by)
    assert by.length_of(first) == 5
    assert stacked["kind"].tolist() == [4, 5, 6]
    assert stacked["frames"].shape == (3, 2, 5, 3)
    assert (stacked["frames"][:1] == 1).all()
    assert (stacked["frames"][1:, :, :1] == 2).all()
    assert (stacked["frames"][1:, :, 1:] == -1).all()
    assert stacked["words"].tolist() == [["a", "b"], ["c", ""], ["d", ""]]


def test_a_model_whose_output_has_another_length_is_refused_at_its_trial(tmp_path: Path) -> None:
    path = write_model(tmp_path / "spans.onnx", masked=True)
    own = variant()
    wrong = Variant(
        name="spans",
        task="spans",
        runtime="onnx",
        artifact=own.artifact,
        accuracy=0.9,
        inputs=own.inputs,
        outputs=(own.outputs[0], TensorSpec("doubled", "FP32", (-1, 4))),
        lengths=own.lengths,
    )
    with pytest.raises(ArtifactError, match=r"doubled FP32 \(float32\) \[-1, 4\].*doubled float32\[2, 3\] for 2 rows"):
        OnnxRuntime(wrong, path, RuntimeOptions()).load()
