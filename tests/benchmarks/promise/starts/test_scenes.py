"""What services are started with is what it claims to be."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import yaml

from benchmarks.promise.starts.scenes import BATCH_SIZES, CLASSES, FRONT, SCENES, WIDTH, write_model
from benchmarks.promise.systems import POLICIES, PORT, System
from catalog.catalogue import load_catalogue
from catalog.profiles.profile_csv import read_profiles
from serve_app.cli.config_file import read_serve_file


@pytest.mark.parametrize("name", SCENES)
def test_every_scene_is_a_config_that_can_be_served(name: str, tmp_path: Path) -> None:
    scene = SCENES[name](tmp_path)
    path = tmp_path / "service.yaml"
    path.write_text(yaml.safe_dump(dict(scene.content)))
    file = read_serve_file(path)
    assert file.url == f"http://127.0.0.1:{PORT}"
    assert str(tmp_path) in str(file.app.controller.state)
    task = file.app.endpoints[scene.endpoint].task
    assert load_catalogue(file.app.catalogue).of_task(task)


def test_a_tiny_model_gives_two_scores_for_any_number_of_rows(tmp_path: Path) -> None:
    write_model(tmp_path / "tiny.onnx", 4)
    session = onnxruntime.InferenceSession(str(tmp_path / "tiny.onnx"), providers=["CPUExecutionProvider"])
    for rows in (1, 64):
        (scores,) = session.run(["scores"], {"ids": np.ones((rows, WIDTH), dtype=np.int64)})
        assert scores.shape == (rows, CLASSES)


def test_flat_profiles_are_flat(tmp_path: Path) -> None:
    SCENES["flat_profiles"](tmp_path)
    rows = read_profiles(tmp_path / "profiles.csv", "cpu")
    assert {row.profile.mean_s(size) for row in rows.values() for size in BATCH_SIZES} == {0.005, 0.01}


def test_sixty_variants_lie_on_a_front(tmp_path: Path) -> None:
    SCENES["sixty_variants"](tmp_path)
    rows = list(read_profiles(tmp_path / "profiles.csv", "cpu").values())
    assert len(rows) == FRONT
    for size in BATCH_SIZES:
        assert (np.diff([row.profile.mean_s(size) for row in rows]) > 0).all()
    assert (np.diff([row.accuracy_pct for row in rows]) > 0).all()


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_differ_from_the_quickstart_in_their_selection_alone(policy: str, tmp_path: Path) -> None:
    def endpoint(content: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = content["applications"][0]["args"]["endpoints"]["digits"]
        return found

    own = endpoint(System.of(policy).config(tmp_path))
    assert {**own, "selection": None, "balancing": None} == {
        **endpoint(System.of("ramsis").config(tmp_path)),
        "selection": None,
        "balancing": None,
    }
    assert own["selection"]["policy"] == policy


def test_fixed_is_the_most_accurate_variant(tmp_path: Path) -> None:
    best = max(load_catalogue("builtin").of_task("digits"), key=lambda variant: variant.accuracy)
    assert System.of("fixed").endpoint["selection"]["variant"] == best.name
    System.of("fixed").check(tmp_path)
