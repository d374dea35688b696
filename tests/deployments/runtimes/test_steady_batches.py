"""Variants as they are measured beside others."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from user_code_scene import variant, write_module

from catalog.errors import ArtifactError
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.steady_batches import RuntimePrograms


def test_a_variant_that_fails_on_larger_batches_is_named(tmp_path: Path) -> None:
    text = """
        class Few(Exception):
            def __init__(self, rows, most):
                super().__init__(f"{rows} rows, at most {most}")

        class Doubles:
            def setup(self, device): ...
            def predict(self, inputs):
                if len(inputs["x"]) > 4:
                    raise Few(len(inputs["x"]), 4)
                return {"y": 2 * inputs["x"]}
    """
    write_module(tmp_path, text)
    given = replace(variant(), max_batch=16)
    program = RuntimePrograms({"own": (given, str(tmp_path))}, RuntimeOptions()).load("own")
    program.batch_of(4)()
    with pytest.raises(ArtifactError, match=r"'own' cannot be measured: Few: 8 rows, at most 4; .* from 1 to 16") as no:
        program.batch_of(8)()
    assert str(pickle.loads(pickle.dumps(no.value))) == str(no.value), "it goes to the process that asks"
