"""Answers of real models to labelled examples, kept and taken up again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from user_code_scene import variant, write_module

from catalog.catalogue import Catalogue, load_catalogue
from catalog.errors import ArtifactError
from catalog.tensor import TensorSpec
from catalog.variant import Artifact
from deployments.runtimes.base import RuntimeOptions
from deployments.worker.evaluation import CHUNK_ROWS, Evaluation
from toy_models import LIMIT, write_toy_catalogue

ROWS = 2 * CHUNK_ROWS + 100
X = (np.arange(ROWS) % LIMIT).astype(np.float32)


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return load_catalogue(write_toy_catalogue(tmp_path))


def evaluation(catalogue: Catalogue, folder: Path, key: str = "data", rows: int = ROWS) -> Evaluation:
    return Evaluation(catalogue.root, {"x": X[:rows]}, key, folder, RuntimeOptions())


def test_what_was_run_is_kept_and_only_the_rest_runs_again(catalogue: Catalogue, tmp_path: Path) -> None:
    good, heard = catalogue.variant("good"), []
    first = evaluation(catalogue, tmp_path / "answers").answers(good, heard.append)
    assert first.outputs["y"].tolist() == (2 * X).tolist()
    assert (first.kept_rows, heard[0], heard[-1]) == (0, 0.0, 1.0)
    assert first.latency_ms > 0
    chunks = sorted((tmp_path / "answers" / "good").glob("*.npz"))
    assert len(chunks) == 3
    kept = chunks[0].stat().st_mtime_ns
    chunks[1].unlink()  # as if the run had been broken off there
    second = evaluation(catalogue, tmp_path / "answers").answers(good, heard.append)
    assert second.outputs["y"].tolist() == first.outputs["y"].tolist()
    assert second.kept_rows == ROWS - CHUNK_ROWS
    assert chunks[0].stat().st_mtime_ns == kept
    whole = evaluation(catalogue, tmp_path / "answers").answers(good, heard.append)
    assert (whole.kept_rows, whole.latency_ms) == (ROWS, second.latency_ms)
    assert evaluation(catalogue, tmp_path / "answers").answers(good, heard.append, again=True).kept_rows == 0


def test_other_data_or_another_model_is_run_anew(catalogue: Catalogue, tmp_path: Path) -> None:
    good = catalogue.variant("good")
    evaluation(catalogue, tmp_path / "answers").answers(good, float)
    assert evaluation(catalogue, tmp_path / "answers", key="other").answers(good, float).kept_rows == 0
    fewer = evaluation(catalogue, tmp_path / "answers", key="other", rows=10).answers(good, float)
    assert (fewer.kept_rows, len(fewer.outputs["y"])) == (0, 10)
    model = Path(catalogue.root) / good.artifact.uri
    model.write_bytes((Path(catalogue.root) / "brittle.onnx").read_bytes())
    assert evaluation(catalogue, tmp_path / "answers", key="other", rows=10).answers(good, float).kept_rows == 0


def test_an_entry_with_another_output_is_run_anew(catalogue: Catalogue, tmp_path: Path) -> None:
    given = replace(catalogue.variant("good"), runtime="emulated", artifact=Artifact("profiles.csv"))
    run = evaluation(catalogue, tmp_path / "answers", rows=4)
    assert run.answers(given, float).outputs.keys() == {"y"}
    more = replace(given, outputs=(*given.outputs, TensorSpec("z", "INT64", (-1,))))
    found = run.answers(more, float)
    assert (sorted(found.outputs), found.kept_rows) == (["y", "z"], 0)
    assert run.answers(more, float).kept_rows == 4


def test_a_class_is_run_anew_once_a_helper_module_or_a_file_of_its_options_has_changed(tmp_path: Path) -> None:
    write_module(
        tmp_path,
        """
        import pathlib

        class Scaled:
            def __init__(self, weights):
                self.weights = pathlib.Path(__file__).parent / weights

            def setup(self, device):
                self.factor = float(self.weights.read_text())

            def predict(self, inputs):
                return {"y": inputs["x"] * self.factor}
        """,
        "scaled",
    )
    (tmp_path / "weights.txt").write_text("2")
    own = variant("scaled:Scaled", options={"weights": "weights.txt"})
    run = Evaluation(str(tmp_path), {"x": np.ones((4, 3), np.float32)}, "data", tmp_path / "out", RuntimeOptions())
    assert run.answers(own, float).outputs["y"].max() == 2
    (tmp_path / "weights.txt").write_text("3")
    changed = run.answers(own, float)
    assert (changed.kept_rows, changed.outputs["y"].max()) == (0, 3)
    assert run.answers(own, float).kept_rows == 4
    write_module(tmp_path, "FACTOR = 1", "layers")
    assert run.answers(own, float).kept_rows == 0


def test_a_model_that_cannot_be_loaded_is_said(catalogue: Catalogue, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="corrupt"):
        evaluation(catalogue, tmp_path / "answers").answers(catalogue.variant("corrupt"), float)


def test_rows_that_a_model_fails_on_are_said(catalogue: Catalogue, tmp_path: Path) -> None:
    x = np.array([0.0, LIMIT + 1.0], dtype=np.float32)
    run = Evaluation(catalogue.root, {"x": x}, "data", tmp_path / "answers", RuntimeOptions(), batch=1)
    with pytest.raises(ArtifactError, match="variant 'brittle' fails on rows 2 to 2 of the data: "):
        run.answers(catalogue.variant("brittle"), float)


def test_a_model_that_fails_on_one_row_alone_is_said(tmp_path: Path) -> None:
    write_module(
        tmp_path,
        """
        class Doubles:
            def setup(self, device):
                pass

            def predict(self, inputs):
                assert len(inputs["x"]) > 1, "one is too few"
                return {"y": 2 * inputs["x"]}
        """,
    )
    run = Evaluation(str(tmp_path), {"x": np.ones((4, 3), np.float32)}, "data", tmp_path / "answers", RuntimeOptions())
    with pytest.raises(ArtifactError, match=r"variant 'own' fails on row 1 of the data alone: .*one is too few"):
        run.answers(variant(), float)


def test_texts_may_come_as_bytes_and_bytes_that_are_none_are_refused(tmp_path: Path) -> None:
    head = "import numpy as np\nclass Doubles:\n    def setup(self, device):\n        pass\n"
    of = variant(outputs=(TensorSpec("y", "BYTES", (-1,)),))

    def answers(said: bytes) -> list[str]:
        given = f"np.array([{said!r}] * len(inputs['x']), object)"
        write_module(tmp_path, f"{head}    def predict(self, inputs):\n        return {{'y': {given}}}\n")
        x = np.zeros((2, 3), np.float32)
        tried = Evaluation(str(tmp_path), {"x": x}, repr(said), tmp_path / "answers", RuntimeOptions())
        texts: list[str] = tried.answers(of, float).outputs["y"].tolist()
        return texts

    assert answers("caf\u00e9".encode()) == ["caf\u00e9"] * 2
    with pytest.raises(ArtifactError, match=r"fails on rows 1 to 2 of the data: .*output 'y' has bytes that are no"):
        answers(b"\xff\xfe")
