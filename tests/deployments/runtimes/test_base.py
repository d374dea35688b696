"""Options, output checks and the trial run, with a fake runtime."""

import numpy as np
import pytest

from catalog.errors import ArtifactError, ConfigError
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes import base
from deployments.runtimes.base import RuntimeOptions, check_outputs

VARIANT = Variant(
    name="fake",
    task="t",
    runtime="none",
    artifact=Artifact("fake.bin"),
    accuracy=0.5,
    inputs=(TensorSpec("x", "FP32", (-1, 4)), TensorSpec("text", "BYTES", (-1,))),
    outputs=(TensorSpec("label", "INT64", (-1,)), TensorSpec("scores", "FP32", (-1, 3))),
)


class FakeRuntime:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.seen: dict[str, np.ndarray] = {}
        self.unloads = 0

    def load(self) -> None:
        base.trial_run(self, VARIANT)

    def run(self, inputs: base.Tensors) -> base.Tensors:
        self.seen = inputs
        if self.error:
            raise self.error
        return inputs

    def unload(self) -> None:
        self.unloads += 1

    def memory_bytes(self) -> int:
        return 0


def good(rows: int = 2) -> dict[str, np.ndarray]:
    return {"label": np.zeros(rows, np.int64), "scores": np.zeros((rows, 3), np.float32)}


@pytest.mark.parametrize(
    ("device", "index"), [("cpu", None), ("cuda", 0), ("cuda:3", 3), ("cuda-a100", 0), ("cpu-large", None)]
)
def test_the_device_name_says_which_cuda_device(device, index):
    assert RuntimeOptions(device).cuda_index == index


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda-", "CPU", ""])
def test_an_unknown_device_is_refused_with_the_known_ones(device):
    with pytest.raises(ConfigError, match="use cpu, cuda or cuda:N"):
        RuntimeOptions(device)


def test_no_threads_are_refused():
    with pytest.raises(ConfigError, match="threads is 0"):
        RuntimeOptions(threads=0)


def test_outputs_that_match_the_catalogue_pass_in_any_order():
    check_outputs(VARIANT, dict(reversed(good(5).items())), 5)


@pytest.mark.parametrize(
    ("change", "given"),
    [
        ({"label": np.zeros(2, np.int32)}, r"label int32\[2\]"),
        ({"scores": np.zeros((2, 4), np.float32)}, r"scores float32\[2, 4\]"),
        ({"scores": np.zeros((1, 3), np.float32)}, r"scores float32\[1, 3\]"),
        ({"more": np.zeros(2, np.float32)}, r"more float32\[2\]"),
        ({"label": [{0: 0.5}]}, r"label <class 'list'>"),
    ],
)
def test_other_outputs_are_reported_with_what_was_expected_and_given(change, given):
    with pytest.raises(ArtifactError, match=r"'fake' should give label INT64 \(int64\) \[-1\], scores FP32") as raised:
        check_outputs(VARIANT, good() | change, 2)
    assert raised.match(given)


def test_a_missing_output_is_reported():
    with pytest.raises(ArtifactError, match=r"its model gives label int64\[2\] for 2 rows"):
        check_outputs(VARIANT, {"label": np.zeros(2, np.int64)}, 2)


def test_the_trial_run_sends_two_rows_of_zeros_and_empty_strings():
    runtime = FakeRuntime()
    runtime.load()
    assert runtime.seen["x"].dtype == np.float32
    assert np.array_equal(runtime.seen["x"], np.zeros((2, 4)))
    assert runtime.seen["text"].tolist() == ["", ""]
    assert runtime.unloads == 0


def test_a_failed_trial_run_unloads_and_names_the_cause_on_one_line():
    runtime = FakeRuntime(ValueError("bad\n  shape"))
    with pytest.raises(ArtifactError, match=r"'fake' failed its trial run on 2 rows of zeros: bad shape; .*x FP32"):
        runtime.load()
    assert runtime.unloads == 1


def test_a_long_message_keeps_its_beginning_and_its_end():
    text = base.one_line(ValueError("what failed\n" + "traceback\n" * 500 + "why"))
    assert text.startswith("what failed traceback")
    assert text.endswith("traceback why")
    assert len(text) < 450


def test_an_error_without_a_message_is_named_by_its_type():
    assert base.one_line(KeyError()) == "KeyError"


def test_an_error_of_ours_leaves_the_trial_run_as_it_is():
    error = ConfigError("ours")
    with pytest.raises(ConfigError) as raised:
        FakeRuntime(error).load()
    assert raised.value is error


def test_artifact_bytes_counts_a_file_and_a_folder_and_refuses_nothing(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "inner" / "b").write_bytes(b"12345")
    assert base.artifact_bytes(tmp_path / "a") == 3
    assert base.artifact_bytes(tmp_path) == 8
    with pytest.raises(ArtifactError, match=r"cannot read artifact .*none: No such file"):
        base.artifact_bytes(tmp_path / "none")
