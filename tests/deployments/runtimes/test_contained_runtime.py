"""What passes by ``except Exception`` does not pass out of a runtime, and no query waits in vain for its worker."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers
from user_code_scene import variant, write_module

from catalog.errors import ArtifactError
from catalog.store import FsspecStore
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.messages.worker import WorkerSpec
from deployments.runtimes.base import ModelRuntime, RuntimeOptions, Tensors, reason
from deployments.runtimes.contained_runtime import ContainedRuntime, Panicked
from deployments.runtimes.making import make_runtime
from deployments.worker.worker import Worker

X = np.zeros((2, 3), np.float32)

CLASS = """
    class Own(BaseException):
        pass

    class Doubles:
        def __init__(self, where):
            self.where = where
            self.fail("init")

        def fail(self, where):
            if self.where == where:
                raise Own("thirteen")

        {setup} setup(self, device):
            self.fail("setup")

        {predict} predict(self, inputs):
            if inputs["x"].any():
                self.fail("predict")
            return {{"y": 2 * inputs["x"]}}
"""
KINDS = pytest.mark.parametrize("kind", ["def", "async def"])


class Panics:
    """A runtime whose library panics, in `load` and in `run`; like PanicException, which cannot be made here."""

    def __init__(self) -> None:
        self.unloaded = 0

    def load(self) -> None:
        raise BaseException("index out of bounds")

    def run(self, inputs: Tensors) -> Tensors:
        raise BaseException("index out of bounds")

    def unload(self) -> None:
        self.unloaded += 1

    def memory_bytes(self) -> int:
        return 1


def own(where: str) -> Variant:
    return variant(options={"where": where})


def made(folder: Path, given: Variant) -> ModelRuntime:
    return make_runtime(given, FsspecStore(str(folder), folder / "cache"), RuntimeOptions())


def test_a_librarys_panic_is_an_exception_with_its_type_and_text() -> None:
    inner = Panics()
    runtime = ContainedRuntime(variant(), inner)
    with pytest.raises(ArtifactError, match="'own' cannot be loaded: BaseException: index out of bounds; correct the"):
        runtime.load()
    assert inner.unloaded == 1
    with pytest.raises(Panicked, match=r"^BaseException: index out of bounds$"):
        runtime.run({})


def test_ctrl_c_passes() -> None:
    inner = Panics()
    inner.run = inner.load = lambda *_: (_ for _ in ()).throw(KeyboardInterrupt())  # type: ignore[method-assign]
    runtime = ContainedRuntime(variant(), inner)
    with pytest.raises(KeyboardInterrupt):
        runtime.load()
    with pytest.raises(KeyboardInterrupt):
        runtime.run({})


def test_a_tokenizer_that_panics_raises_an_exception(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.FixedLength(length=0)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    axis = numpy_helper.from_array(np.array([1]), "axis")
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])
    label = helper.make_tensor_value_info("label", TensorProto.INT64, ["n"])
    node = helper.make_node("ReduceSum", ["input_ids", "axis"], ["label"], keepdims=0)
    graph = helper.make_graph([node], "sums", [ids], [label], [axis])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "model.onnx")
    text, number = TensorSpec("text", "BYTES", (-1,)), TensorSpec("label", "INT64", (-1,))
    given = variant(runtime="text", artifact=Artifact("."), inputs=(text,), outputs=(number,))
    runtime = made(tmp_path, given)
    runtime.load()  # the texts of its trial are empty
    with pytest.raises(Panicked, match=r"^PanicException: .*non-zero"):
        runtime.run({"text": np.array(["a"], object)})


@KINDS
@pytest.mark.parametrize("where", ["init", "setup"])
def test_a_class_with_an_error_of_its_own_cannot_be_loaded(tmp_path: Path, kind: str, where: str) -> None:
    write_module(tmp_path, CLASS.format(setup=kind, predict=kind))
    with pytest.raises(ArtifactError, match=r"mine\.py, line 1\d, in fail: UserCodeEnded: .* raised Own\(thirteen\)"):
        made(tmp_path, own(where)).load()


@KINDS
async def test_the_worker_lives_on_and_says_type_and_text(tmp_path: Path, kind: str) -> None:
    write_module(tmp_path, CLASS.format(setup=kind, predict=kind))
    spec = WorkerSpec("pool", "cpu", 1, (own("predict"),), str(tmp_path), str(tmp_path / "cache"))
    worker = Worker(spec)
    result = await worker.run("own", {"x": X + 1})
    assert result.error is not None
    assert "UserCodeEnded: predict raised Own(thirteen)" in result.error
    assert (await worker.run("own", {"x": X})).error is None
    await worker.unload("own")


async def test_a_worker_starts_without_a_variant_whose_setup_raises_so(tmp_path: Path) -> None:
    write_module(tmp_path, CLASS.format(setup="def", predict="def"))
    spec = WorkerSpec("pool", "cpu", 1, (own("setup"),), str(tmp_path), str(tmp_path / "cache"))
    assert "setup raised Own(thirteen)" in (await Worker(spec).describe()).failed["own"]


def test_an_error_that_cannot_say_what_it_is_goes_by_its_type() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    assert reason(Mute()) == "Mute: Mute"
