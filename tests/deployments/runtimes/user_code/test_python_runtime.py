"""Classes of a user, loaded and run as variants: what they get, what they may give, what becomes of their faults."""

import asyncio
import logging
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from user_code_scene import variant, write_module

from catalog.errors import AccordError, ArtifactError
from catalog.store import FsspecStore
from catalog.tensor import TensorSpec
from catalog.variant import Variant
from deployments.messages.worker import WorkerSpec
from deployments.runtimes.base import ModelRuntime, RuntimeOptions
from deployments.runtimes.making import make_runtime
from deployments.runtimes.user_code.containing import UserCodeEnded
from deployments.worker.worker import Worker

DOUBLES = """
    import numpy as np

    class Doubles:
        def setup(self, device):
            self.device = device

        def predict(self, inputs):
            if (inputs["x"] == 13).any():
                raise ValueError("thirteen is unlucky")
            if (inputs["x"] == 14).any():
                raise SystemExit(3)
            return {"y": 2 * inputs["x"]}
"""
X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
TEXTS = (TensorSpec("x", "BYTES", (-1,)),)


def made(folder: Path, text: str = DOUBLES, given: Variant | None = None, **options: Any) -> ModelRuntime:
    write_module(folder, text)
    return make_runtime(given or variant(), FsspecStore(str(folder), folder / "cache"), RuntimeOptions(**options))


def loaded(folder: Path, text: str = DOUBLES, given: Variant | None = None, **options: Any) -> ModelRuntime:
    runtime = made(folder, text, given, **options)
    runtime.load()
    return runtime


def of(predict: str, setup: str = "pass", head: str = "") -> str:
    """A module whose class has these bodies."""
    return (
        f"import numpy as np\nimport os\nimport asyncio\n{head}\n"
        f"class Doubles:\n    def setup(self, device):\n        {setup}\n"
        f"    def predict(self, inputs):\n        {predict}\n"
    )


def test_a_class_runs_between_load_and_unload_and_may_be_loaded_again(tmp_path: Path) -> None:
    runtime = made(tmp_path)
    with pytest.raises(RuntimeError, match="not loaded"):
        runtime.run({"x": X})
    for _ in range(2):
        runtime.load()
        np.testing.assert_array_equal(runtime.run({"x": X})["y"], 2 * X)
        runtime.unload()
        runtime.unload()
    with pytest.raises(RuntimeError, match="not loaded"):
        runtime.run({"x": X})


def test_setup_gets_the_device_and_the_threads_if_it_takes_them(tmp_path: Path) -> None:
    text = """
        import numpy as np

        class Doubles:
            def setup(self, device, threads=None):
                self.said = f"{device} {threads}"

            def predict(self, inputs):
                assert self.said == "cpu 2", self.said
                return {"y": 2 * inputs["x"]}
    """
    loaded(tmp_path, text, threads=2)
    with pytest.raises(ArtifactError, match=r"mine\.py, line \d+, in predict: AssertionError: cpu 1"):
        loaded(tmp_path, text, threads=1)


def test_both_methods_may_be_async_also_where_a_loop_runs_and_keep_their_loop(tmp_path: Path) -> None:
    text = """
        import asyncio

        class Doubles:
            async def setup(self, device):
                self.loop = asyncio.get_running_loop()
                self.beats = 0
                self.task = asyncio.create_task(self.beat())

            async def beat(self):
                while True:
                    self.beats += 1
                    await asyncio.sleep(0.001)

            async def predict(self, inputs):
                assert asyncio.get_running_loop() is self.loop
                if (inputs["x"] == 14).any():
                    raise SystemExit(3)
                before = self.beats
                while self.beats == before:
                    await asyncio.sleep(0.001)
                return {"y": 2 * inputs["x"]}
    """

    async def within_a_loop() -> None:
        runtime = loaded(tmp_path, text)
        np.testing.assert_array_equal(runtime.run({"x": X})["y"], 2 * X)
        with pytest.raises(UserCodeEnded, match=r"predict raised SystemExit\(3\)"):
            runtime.run({"x": np.full_like(X, 14)})
        np.testing.assert_array_equal(runtime.run({"x": X})["y"], 2 * X)
        runtime.unload()

    asyncio.run(within_a_loop())
    assert not [each for each in threading.enumerate() if each.name == "accord-user-code"]


def test_options_make_two_variants_of_one_class(tmp_path: Path) -> None:
    text = """
        class Times:
            def __init__(self, factor): self.factor = factor
            def setup(self, device): ...
            def predict(self, inputs): return {"y": self.factor * inputs["x"]}
    """
    for factor in (3, 4):
        runtime = loaded(tmp_path, text, variant("mine:Times", options={"factor": factor}))
        np.testing.assert_array_equal(runtime.run({"x": X})["y"], factor * X)


def test_inputs_are_read_only_whatever_their_size(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"line 9, in predict: ValueError: .*read-only"):
        loaded(tmp_path, of("inputs['x'] *= 2; return {'y': inputs['x']}"))
    x = X.copy()
    loaded(tmp_path, of("return {'y': 2 * inputs['x']}")).run({"x": x})
    assert x.flags.writeable


def test_texts_go_in_and_out_as_str(tmp_path: Path) -> None:
    given = variant(inputs=TEXTS, outputs=(TensorSpec("y", "BYTES", (-1,)),))
    x = np.array(["a", "größer"], object)
    for body in (
        "np.array([t.upper() for t in inputs['x']])",
        "np.array([np.str_(t.upper()) for t in inputs['x']], object)",
    ):
        y = loaded(tmp_path, of(f"return {{'y': {body}}}"), given).run({"x": x})["y"]
        assert y.tolist() == ["A", "GRÖSSER"]
        assert {type(text) for text in y} == {str}
    with pytest.raises(ArtifactError, match="y with NoneType in it, where BYTES are str or bytes"):
        loaded(tmp_path, of("return {'y': np.array([None, None], object)}"), given)


def test_elements_that_are_no_text_go_in_and_out_as_bytes(tmp_path: Path) -> None:
    given = variant(inputs=TEXTS, outputs=(TensorSpec("y", "BYTES", (-1,)),))
    x = np.array([b"\xff\0", "a"], object)
    assert loaded(tmp_path, of("return {'y': inputs['x'].copy()}"), given).run({"x": x})["y"].tolist() == x.tolist()


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("return 2 * inputs['x']", "gives a ndarray instead of a dict"),
        ("yield 2 * inputs['x']", "gives a generator instead of a dict"),
        ("return {'z': inputs['x']}", r"gives z float32\[2, 3\]"),
        ("return {'y': inputs['x'], 'z': inputs['x']}", r"gives y float32\[2, 3\], z float32\[2, 3\]"),
        ("return {'y': inputs['x'].astype(float)}", r"gives y float64\[2, 3\]"),
        ("return {'y': inputs['x'][:1]}", r"gives y float32\[1, 3\] for 2 rows"),
        ("return {'y': inputs['x'].tolist()}", "gives y <class 'list'>"),
        ("return {}", "gives nothing for 2 rows"),
    ],
)
def test_other_outputs_than_declared_are_refused_with_the_line(tmp_path: Path, body: str, given: str) -> None:
    with pytest.raises(
        ArtifactError, match=rf"should give y FP32 .* {given}.*correct mine\.py, line 8 \(Doubles\.predict\)"
    ):
        loaded(tmp_path, of(body))


def test_classes_of_arrays_stay_behind(tmp_path: Path) -> None:
    head = "class Special(np.ndarray): ..."
    runtime = loaded(tmp_path, of("return {'y': (2 * inputs['x']).view(Special)}", head=head))
    assert type(runtime.run({"x": X})["y"]) is np.ndarray


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_of_that_name\nclass Doubles: ...\n", r"mine\.py, line 1: ModuleNotFoundError: .*nothing_of"),
        ("class Doubles\n", r"mine\.py, line 1: SyntaxError"),
        ("import sys\nsys.exit(2)\n", r"mine\.py, line 2: .*importing mine raised SystemExit\(2\)"),
        ("class Other: ...\n", r"Doubles is not there.*name a class of mine\.py: Other"),
        ("Doubles = 3\n", r"Doubles is of type int; name a class"),
        ("class Doubles:\n    def setup(self, device): ...\n", r"mine\.py, line 1 \(Doubles\) has no predict"),
        (
            of("return {'y': inputs['x']}", setup="{}['model']"),
            r"cannot be set up: mine\.py, line 7, in setup: KeyError",
        ),
        (of("return {'y': inputs['x']}", setup="os._exit_('')"), r"in setup: AttributeError"),
        (of("return {'y': inputs['x'] / len(undefined)}"), r"2 rows of zeros: mine\.py, line 9, in predict: NameError"),
        (of("raise asyncio.CancelledError"), r"in predict: .*predict raised CancelledError"),
        (
            "class Doubles:\n    def setup(self): ...\n    def predict(self, inputs): ...\n",
            r"mine\.py, line 2 \(Doubles\.setup\): setup\(\) cannot be called",
        ),
    ],
)
def test_a_class_that_cannot_be_had_is_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(AccordError, match=message):
        loaded(tmp_path, text)


def test_a_module_is_imported_anew_when_it_changed_and_from_its_own_folder(tmp_path: Path) -> None:
    first = loaded(tmp_path / "a")
    assert float(first.run({"x": X})["y"].sum()) == 42
    other = loaded(tmp_path / "b", of("return {'y': 3 * inputs['x']}"))
    changed = loaded(tmp_path / "a", of("return {'y': 10 * inputs['x']}"))
    sums = [float(runtime.run({"x": X})["y"].sum()) for runtime in (first, other, changed)]
    assert sums == [42, 63, 210]


def test_a_module_beside_it_and_a_file_beside_it_are_found(tmp_path: Path) -> None:
    write_module(tmp_path, "FACTOR = 7\n", "beside_mine")
    (tmp_path / "bias.npy").write_bytes(b"")
    np.save(tmp_path / "bias.npy", np.float32(1))
    head = "from pathlib import Path\nfrom beside_mine import FACTOR"
    text = of(
        "return {'y': FACTOR * inputs['x'] + self.bias}",
        "self.bias = np.load(Path(__file__).parent / 'bias.npy')",
        head,
    )
    np.testing.assert_array_equal(loaded(tmp_path, text).run({"x": X})["y"], 7 * X + 1)


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    write_module(tmp_path, DOUBLES)
    return Worker(WorkerSpec("pool", "cpu", 1, (variant(),), str(tmp_path), str(tmp_path / "cache")))


async def test_a_fault_costs_the_batch_with_the_traceback_in_the_log_and_the_worker_lives(
    worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "ray.serve"):
        logging.getLogger("ray.serve").propagate = True
        unlucky = await worker.run("own", {"x": np.full_like(X, 13)})
        ended = await worker.run("own", {"x": np.full_like(X, 14)})
    assert unlucky.error == "ValueError: thirteen is unlucky"
    assert ended.error is not None
    assert "predict raised SystemExit(3), which would end the worker" in ended.error
    assert 'raise ValueError("thirteen is unlucky")' in caplog.text
    assert "mine.py" in caplog.text
    right = await worker.run("own", {"x": X})
    assert right.error is None
    np.testing.assert_array_equal(right.outputs["y"], 2 * X)


async def test_it_is_measured_and_swapped_in_place_like_any_other(worker: Worker, tmp_path: Path) -> None:
    profile = await worker.profile(variant(), budget_s=0.05)
    assert profile.batch_sizes[-1] == 64
    write_module(tmp_path, of("return {'y': 5 * inputs['x']}"), "second")
    report = await worker.load(variant("second:Doubles", name="other"))
    assert report.loaded == ("own", "other")
    await worker.unload("own")
    assert (await worker.describe()).loaded == ("other",)
    np.testing.assert_array_equal((await worker.run("other", {"x": X})).outputs["y"], 5 * X)


async def test_one_that_fails_on_more_rows_than_the_trial_cannot_be_measured(tmp_path: Path) -> None:
    write_module(tmp_path, of("assert len(inputs['x']) < 8, 'too many'; return {'y': 2 * inputs['x']}"))
    worker = Worker(WorkerSpec("pool", "cpu", 1, (variant(),), str(tmp_path), str(tmp_path / "cache")))
    with pytest.raises(ArtifactError, match=r"cannot be measured: AssertionError: too many; .* rows from 1 to 64"):
        await worker.profile(variant(), budget_s=0.05)


def test_no_other_module_of_that_name_is_taken_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))  # processes that later tests start are not to import this json
    write_module(tmp_path, DOUBLES, "json")
    with pytest.raises(ArtifactError, match=rf"another module 'json', from .*, and not {tmp_path}"):
        loaded(tmp_path, DOUBLES, variant("json:Doubles"))
