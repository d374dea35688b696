"""Exported programs and TorchScript saved here, against direct calls of the module."""

import gc
import warnings
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch

from catalog.errors import ArtifactError, ConfigError
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.registry import create

VARIANT = Variant(
    name="net",
    task="t",
    runtime="torch",
    artifact=Artifact("net.pt2"),
    accuracy=0.5,
    inputs=(TensorSpec("x", "FP32", (-1, 4)), TensorSpec("shift", "INT64", (-1,))),
    outputs=(TensorSpec("label", "INT64", (-1,)), TensorSpec("scores", "FP32", (-1, 3))),
)
WEIGHT_BYTES = (4 * 3 + 3 + 3) * 4


class Net(torch.nn.Module):
    """Has a parameter, a buffer and a constant, which an exported program keeps apart."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]))
        self.constant = torch.tensor([0.5])

    def forward(self, x: torch.Tensor, shift: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = self.linear(x) * self.scale + shift.unsqueeze(1) + self.constant
        return scores.argmax(1), scores


class ByName(Net):
    def forward(self, x: torch.Tensor, shift: torch.Tensor) -> dict[str, torch.Tensor]:
        label, scores = super().forward(x, shift)
        return {"scores": scores, "extra": -scores, "label": label}


class OneTensor(Net):
    def forward(self, x: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        return super().forward(x, shift)[1]


def example(rows: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {"x": random.normal(size=(rows, 4)).astype(np.float32), "shift": random.integers(0, 9, rows)}


def exported(module, path, dynamic=True):
    batch = {0: torch.export.Dim.DYNAMIC} if dynamic else None
    inputs = tuple(torch.from_numpy(array) for array in example(2).values())
    torch.export.save(torch.export.export(module, inputs, dynamic_shapes={"x": batch, "shift": batch}), path)
    return path


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(4)
    return Net().eval()


@pytest.fixture(scope="module")
def artifacts(net, tmp_path_factory):
    """The same module as an exported program, as a script, and traced; the suffix of one says nothing."""
    folder = tmp_path_factory.mktemp("torch")
    files = {"exported": exported(net, folder / "net.pt2"), "script": folder / "net.pt", "trace": folder / "model.bin"}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`torch\.jit\.\w+` is deprecated", DeprecationWarning)
        torch.jit.script(net).save(files["script"])
        torch.jit.trace(net, tuple(torch.from_numpy(array) for array in example(2).values())).save(files["trace"])
    return files


@pytest.fixture(params=["exported", "script", "trace"])
def artifact(request, artifacts):
    return artifacts[request.param]


@pytest.fixture
def runtime(artifact):
    runtime = create(VARIANT, artifact, RuntimeOptions())
    runtime.load()
    yield runtime
    runtime.unload()


def expected(net, inputs):
    with torch.no_grad():
        return [output.numpy() for output in net(*(torch.from_numpy(array) for array in inputs.values()))]


def test_outputs_equal_a_direct_call(runtime, net):
    inputs = example(7)
    outputs = runtime.run(dict(reversed(inputs.items())))
    label, scores = expected(net, inputs)
    np.testing.assert_array_equal(outputs["label"], label)
    np.testing.assert_allclose(outputs["scores"], scores, rtol=1e-5)


def test_a_row_gives_the_same_alone_and_in_a_batch(runtime):
    inputs = example(5)
    together = runtime.run(inputs)["scores"]
    for row in range(5):
        alone = runtime.run({name: array[row : row + 1] for name, array in inputs.items()})
        np.testing.assert_allclose(alone["scores"][0], together[row], rtol=1e-5)


def test_read_only_and_strided_inputs_are_taken_without_a_warning(runtime):
    inputs = example(6)
    for array in inputs.values():
        array.flags.writeable = False
    outputs = runtime.run({name: array[::-1] for name, array in inputs.items()})
    np.testing.assert_allclose(outputs["scores"][::-1], runtime.run(inputs)["scores"], rtol=1e-5)


def test_a_run_is_bound_to_its_threads_whatever_the_calling_thread_was_set_to(runtime):
    torch.set_num_threads(2)
    runtime.run(example(2))
    assert torch.get_num_threads() == 1


def test_it_runs_only_between_load_and_unload_and_unloads_twice(artifact):
    runtime = create(VARIANT, artifact, RuntimeOptions())
    with pytest.raises(RuntimeError, match=r"'net' is not loaded; call load\(\)"):
        runtime.run(example(2))
    runtime.load()
    runtime.unload()
    runtime.unload()
    with pytest.raises(RuntimeError, match="not loaded"):
        runtime.run(example(2))
    runtime.load()
    assert len(runtime.run(example(2))["label"]) == 2


def test_unload_frees_the_weights_at_once_without_a_garbage_collection(artifact):
    runtime = create(VARIANT, artifact, RuntimeOptions())
    runtime.load()
    weights = [weakref.ref(tensor) for tensor in (*runtime._module.parameters(), *runtime._module.buffers())]
    gc.disable()
    try:
        runtime.unload()
        alive = [weight() for weight in weights if weight() is not None]
    finally:
        gc.enable()
    assert len(weights) == 3
    assert all(tensor.device.type == "meta" for tensor in alive)  # a meta tensor has no memory


def test_memory_follows_the_file_and_then_the_weights(artifact):
    runtime = create(VARIANT, artifact, RuntimeOptions())
    assert runtime.memory_bytes() >= artifact.stat().st_size
    runtime.load()
    assert runtime.memory_bytes() == int(WEIGHT_BYTES * 1.3)
    runtime.unload()
    assert runtime.memory_bytes() >= artifact.stat().st_size


@pytest.mark.parametrize("kind", ["exported", "script"])
def test_a_truncated_or_foreign_file_is_named_with_the_reason_on_one_line(artifacts, tmp_path, kind):
    broken = tmp_path / "broken.pt"
    for content in (artifacts[kind].read_bytes()[:-300], b"junk" * 30, b""):
        broken.write_bytes(content)
        with pytest.raises(ArtifactError, match=r"'net': cannot load broken\.pt: ") as raised:
            create(VARIANT, broken, RuntimeOptions()).load()
        assert "\n" not in str(raised.value)


def test_a_file_of_bare_weights_is_refused_with_the_remedy(net, tmp_path):
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    with pytest.raises(ArtifactError, match=r"neither an exported program nor TorchScript; save it with torch\.export"):
        create(VARIANT, tmp_path / "weights.pt", RuntimeOptions()).load()


def test_outputs_by_name_may_come_in_any_order_with_others(tmp_path):
    module = ByName().eval()
    runtime = create(VARIANT, exported(module, tmp_path / "named.pt2"), RuntimeOptions())
    runtime.load()
    outputs = runtime.run(example(3))
    assert set(outputs) == {"label", "scores"}
    np.testing.assert_allclose(outputs["scores"], expected_by_name(module, example(3)), rtol=1e-5)
    missing = replace(VARIANT, outputs=(TensorSpec("logits", "FP32", (-1, 3)),))
    with pytest.raises(ArtifactError, match=r"should give logits FP32 .*gives a dict of scores, extra, label"):
        create(missing, tmp_path / "named.pt2", RuntimeOptions()).load()


def expected_by_name(module, inputs):
    with torch.no_grad():
        return module(*(torch.from_numpy(array) for array in inputs.values()))["scores"].numpy()


class InPlace(Net):
    def forward(self, x: torch.Tensor, shift: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x.mul_(2.0)
        return super().forward(x, shift)


@pytest.mark.parametrize("kind", ["exported", "trace"])
def test_a_model_that_writes_into_its_input_does_not_write_into_the_callers(tmp_path, kind):
    module = InPlace().eval()
    file = tmp_path / "net.pt2" if kind == "exported" else tmp_path / "net.pt"
    if kind == "exported":
        exported(module, file)
    else:
        with warnings.catch_warnings(action="ignore"):
            torch.jit.trace(module, tuple(map(torch.from_numpy, example(2).values()))).save(file)
    runtime = create(VARIANT, file, RuntimeOptions())
    runtime.load()
    given = example(4)
    first, second = runtime.run(given)["scores"], runtime.run(given)["scores"]
    assert given["x"].tolist() == example(4)["x"].tolist()
    assert first.tolist() == second.tolist()


def test_a_single_tensor_is_the_single_output(tmp_path):
    module = OneTensor().eval()
    exported(module, tmp_path / "one.pt2")
    variant = replace(VARIANT, outputs=VARIANT.outputs[1:])
    runtime = create(variant, tmp_path / "one.pt2", RuntimeOptions())
    runtime.load()
    assert runtime.run(example(3))["scores"].shape == (3, 3)
    with pytest.raises(ArtifactError, match=r"should give label .*, scores .*, but its model gives 1 tensors"):
        create(VARIANT, tmp_path / "one.pt2", RuntimeOptions()).load()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"outputs": VARIANT.outputs[::-1]},
            r"should give scores FP32 .* gives scores int64\[2\], label float32\[2, 3",
        ),
        (
            {"inputs": (TensorSpec("x", "FP32", (-1, 5)), VARIANT.inputs[1])},
            r"trial run on 2 rows .*x FP32 .*\[-1, 5\]",
        ),
        ({"inputs": VARIANT.inputs[:1]}, r"failed its trial run"),
    ],
)
def test_tensors_other_than_the_catalogue_says_are_reported_at_load(artifact, change, message):
    runtime = create(replace(VARIANT, **change), artifact, RuntimeOptions())
    with pytest.raises(ArtifactError, match=message):
        runtime.load()
    with pytest.raises(RuntimeError, match="not loaded"):
        runtime.run(example(2))


def test_a_batch_axis_that_was_fixed_at_one_is_reported_at_load(net, tmp_path):
    inputs = tuple(torch.from_numpy(array) for array in example(1).values())
    torch.export.save(torch.export.export(net, inputs), tmp_path / "fixed.pt2")
    with pytest.raises(ArtifactError, match=r"failed its trial run on 2 rows of zeros"):
        create(VARIANT, tmp_path / "fixed.pt2", RuntimeOptions()).load()


def test_text_is_refused():
    variant = replace(VARIANT, inputs=(TensorSpec("text", "BYTES", (-1,)),))
    with pytest.raises(ConfigError, match=r"'torch' has no BYTES tensors \(text\)"):
        create(variant, "net.pt2", RuntimeOptions())


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_cuda_on_a_machine_without_it_is_refused_with_the_remedy(artifact):
    with pytest.raises(
        ConfigError, match=r"device 'cuda' was asked for, but .* sees 0 CUDA devices; set the device to"
    ):
        create(VARIANT, artifact, RuntimeOptions("cuda")).load()


def test_options_that_it_would_ignore_are_refused(tmp_path) -> None:
    words = "variant 'net': unknown option 'threads'; runtime 'torch' knows none: remove options"
    with pytest.raises(ConfigError, match=words):
        create(replace(VARIANT, options={"threads": 4}), tmp_path, RuntimeOptions())
