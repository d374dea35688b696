"""Functions between stages declare what they take and give, and are found by where they stand."""

import pickle
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from catalog.adapter import Adapter, Condition, adapter, condition, import_function, specs_of
from catalog.errors import ConfigError
from catalog.tensor import TensorSpec
from pipeline_scene import cut, odd

MODULE = '''
"""A user's module."""

from catalog.adapter import adapter, condition

LIMIT = 3


@adapter(inputs={"x": "FP32[-1,8]", "y": "INT64[-1]"}, outputs={"z": "FP32[-1]"})
def crop(x, y=None):
    return {"z": x.sum(axis=1)}


@condition(inputs={"x": "FP32[-1]"})
def sure(x):
    return bool(x.min() > LIMIT)


def plain(x):
    return x


class Tools:
    crop = crop
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes a module under a name that no other test uses, and gives that."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def written(text: str) -> str:
        name = f"user_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return written


def test_tensors_are_written_as_a_datatype_and_a_shape() -> None:
    assert specs_of({"image": "FP32[-1, 8, 96]", "k": "INT64[-1]"}) == (
        TensorSpec("image", "FP32", (-1, 8, 96)),
        TensorSpec("k", "INT64", (-1,)),
    )


@pytest.mark.parametrize("written", ["FP32", "FP32[8]", "FP32[-1,0]", "FP32[-1,x]", "FLOAT[-1]", "FP32[]", "FP32[-1"])
def test_tensors_that_cannot_be_read_are_refused(written: str) -> None:
    with pytest.raises(ConfigError, match=r"tensor 'x' is declared as '.*'.*; write for instance FP32"):
        specs_of({"x": written})


def test_a_tensors_fault_is_told_in_one_line() -> None:
    with pytest.raises(ConfigError) as caught:
        specs_of({"x": "FP32[8]"})
    assert str(caught.value) == (
        "tensor 'x' is declared as 'FP32[8]': shape: shape [8] must start with -1, the batch axis; write for instance "
        "FP32[-1,64]"
    )


def test_an_axis_that_is_no_number_is_quoted() -> None:
    with pytest.raises(ConfigError, match=r"declared as 'FP32\[\]': axis '' is no whole number; write for instance"):
        specs_of({"x": "FP32[]"})


def test_a_functions_parameters_are_its_inputs_and_those_with_a_default_are_optional() -> None:
    @adapter(inputs={"x": "FP32[-1]", "y": "FP32[-1]"}, outputs={"z": "FP32[-1]"})
    def some(x: Any, y: Any = None) -> dict[str, Any]:
        return {"z": x if y is None else y}

    assert some.optional == {"y"}
    assert some(x=1) == {"z": 1}
    with pytest.raises(
        ConfigError, match="some_other declares the inputs x and has the parameters a; give both the same"
    ):

        @condition(inputs={"x": "FP32[-1]"})
        def some_other(a: Any) -> bool:
            return True


class Scaler:
    def __call__(self, x: Any, /) -> dict[str, Any]:
        return {"z": x}

    async def later(self, x: Any) -> dict[str, Any]:
        return {"z": x}


class AsyncScaler:
    async def __call__(self, x: Any) -> dict[str, Any]:
        return {"z": x}


async def stream(x: Any) -> AsyncIterator[Any]:
    yield x


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            lambda x, /: x,
            "lambda> has the parameter x, which is positional-only, but is called with its inputs by name",
        ),
        (lambda *x: x, "lambda> has the parameter x, which is variadic positional"),
        (lambda **x: x, "lambda> has the parameter x, which is variadic keyword"),
        (Scaler(), "Scaler has the parameter x, which is positional-only"),
        (Scaler().later, r"Scaler.later is async, and nobody would wait for it; write def"),
        (AsyncScaler(), "AsyncScaler is async"),
        (partial(Scaler().later), "functools:partial is async"),
        (stream, "stream is async"),
        (partial(lambda a, b: a, 1), "functools:partial declares the inputs x and has the parameters b; give both"),
    ],
)
def test_a_function_that_cannot_be_called_with_its_inputs_by_name_is_refused(
    function: Callable[..., Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        adapter(inputs={"x": "FP32[-1]"}, outputs={"z": "FP32[-1]"})(function)
    with pytest.raises(ConfigError, match=words):
        condition(inputs={"x": "FP32[-1]"})(function)


def test_objects_that_can_be_called_are_functions() -> None:
    declared = adapter(inputs={"x": "FP32[-1]"}, outputs={"z": "FP32[-1]"})(partial(lambda y, x: {"z": x + y}, 1))
    assert declared.name == "functools:partial"


def test_functions_are_found_by_where_they_stand(module: Callable[[str], str]) -> None:
    name = module(MODULE)
    crop = import_function(f"{name}:crop")
    assert isinstance(crop, Adapter)
    assert crop.name == f"{name}:crop"
    assert crop(x=np.ones((2, 8)))["z"].tolist() == [8, 8]
    assert isinstance(import_function(f"{name}:sure"), Condition)
    assert import_function(f"{name}:Tools.crop") is crop


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("crpo", r"has no 'crpo' \(did you mean 'crop'\?\)"),
        ("Tools.cut", "has no 'cut'"),
        (
            "plain",
            r"is a plain function, and nothing says which tensors it takes.*@adapter\(inputs=.*@condition",
        ),
        ("LIMIT", "is of type int, and nothing says which tensors"),
    ],
)
def test_what_is_no_declared_function_is_refused(module: Callable[[str], str], attribute: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        import_function(f"{module(MODULE)}:{attribute}")


@pytest.mark.parametrize("path", ["crop", "my_module:", ":crop", ""])
def test_a_path_names_a_module_and_a_function(path: str) -> None:
    with pytest.raises(ConfigError, match="names no function; write module:function, such as my_module:crop"):
        import_function(path)


def test_a_module_that_cannot_be_imported_is_refused_with_the_reason(module: Callable[[str], str]) -> None:
    with pytest.raises(ConfigError, match="'no_such_module:crop' cannot be imported: ModuleNotFoundError: No module"):
        import_function("no_such_module:crop")
    name = module("1 / 0")
    with pytest.raises(ConfigError, match=f"'{name}:crop' cannot be imported: ZeroDivisionError: division by zero"):
        import_function(f"{name}:crop")


@pytest.mark.parametrize(
    "ending", ["raise SystemExit(0)", "import asyncio; raise asyncio.CancelledError", "raise BaseException(1)"]
)
def test_a_module_that_would_end_the_process_is_refused(module: Callable[[str], str], ending: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be imported: (SystemExit: 0|CancelledError: |BaseException: 1);"):
        import_function(f"{module(ending)}:crop")


def test_a_wrong_declaration_in_a_module_is_refused_as_what_it_is(module: Callable[[str], str]) -> None:
    name = module(MODULE.replace("FP32[-1,8]", "FP32[8]"))
    with pytest.raises(ConfigError, match=rf"'{name}:crop': tensor 'x' is declared as 'FP32\[8\]'"):
        import_function(f"{name}:crop")


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
def test_declared_functions_travel_by_name(pickler: Any) -> None:
    assert pickle.loads(pickler.dumps(cut)) is cut
    assert pickle.loads(pickler.dumps(odd)) is odd
    assert len(pickler.dumps(cut)) < 200


def test_functions_that_stand_nowhere_travel_by_value_where_the_pickler_can() -> None:
    @adapter(inputs={"x": "FP32[-1]"}, outputs={"y": "FP32[-1]"})
    def local(x: Any) -> dict[str, Any]:
        return {"y": x}

    again = pickle.loads(cloudpickle.dumps(local))
    assert (again.inputs, again.outputs, again(x=3)) == (local.inputs, local.outputs, {"y": 3})
