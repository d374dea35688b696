"""``accord votes record``: real models in, CSV out."""

import csv
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import yaml
from text_scene import small_bert, word_tokenizer
from typer.testing import CliRunner

from catalog.votes import read_votes
from catalog.zoo.sentiment.encoder_graph import encoder_model
from catalog.zoo.sentiment.pretrained import HEADS
from serve_app.cli.main import app


def record(*arguments: str):
    return CliRunner().invoke(app, ["votes", "record", *arguments])


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory) -> Path:
    """Two readers of texts with random heads."""
    folder = tmp_path_factory.mktemp("catalogue")
    weights = {name: tensor.numpy() for name, tensor in small_bert().state_dict().items()}
    entries = []
    for seed, name in enumerate(("one", "two")):
        (folder / name).mkdir()
        head = np.random.default_rng(seed).normal(size=(2, 24)).astype(np.float32)
        model = encoder_model(
            {**weights, "head.weight": head, "head.bias": np.zeros(2, np.float32)}, (0,), HEADS, "max"
        )
        onnx.save(model, folder / name / "model.onnx")
        word_tokenizer().save(str(folder / name / "tokenizer.json"))
        entries.append(
            {
                "name": name,
                "task": "mood",
                "runtime": "text",
                "artifact": {"uri": name},
                "accuracy": 0.5,
                "labels": ["bad", "good"],
                "inputs": [{"name": "text", "datatype": "BYTES", "shape": [-1]}],
                "outputs": [{"name": "label", "datatype": "INT64", "shape": [-1]}],
            }
        )
    (folder / "catalogue.yaml").write_text(yaml.safe_dump({"variants": entries}))
    return folder / "catalogue.yaml"


@pytest.fixture
def data(tmp_path) -> Path:
    path = tmp_path / "data.tsv"
    path.write_text("the film is fine\tgood\na dull story\tbad\nwarm\tgood\n")
    return path


def test_votes_of_two_splits_end_up_in_one_file(catalogue, data, tmp_path) -> None:
    out, members = tmp_path / "votes.csv", tmp_path / "members.csv"
    common = (str(catalogue), "--task", "mood", "--data", str(data), "--out", str(out))
    assert record(*common, "--split", "dev").exit_code == 0
    done = record(*common, "--split", "test", "--members-out", str(members), "--json")
    assert done.exit_code == 0, done.output
    votes = read_votes(out)
    assert list(votes) == ["dev", "test"]
    assert votes["test"].members == ("one", "two")
    assert votes["test"].labels.tolist() == [1, 0, 1]
    said = json.loads(done.stdout)
    assert said["examples"] == 3
    accuracies = {name: row["accuracy_pct"] / 100 for name, row in said["members"].items()}
    assert accuracies == pytest.approx(dict(votes["test"].accuracies))
    with members.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["member"] for row in rows] == ["one", "two"]
    assert all(float(row["latency_ms"]) > 0 and 1 <= int(row["packing_factor"]) <= 10 for row in rows)


def test_labels_may_be_class_indices(catalogue, data, tmp_path) -> None:
    data.write_text("fine\t1\ndull\t0\n")
    done = record(str(catalogue), "--task", "mood", "--data", str(data), "--out", str(tmp_path / "v.csv"))
    assert done.exit_code == 0, done.output
    assert "2 examples of split test" in done.stdout
    assert read_votes(tmp_path / "v.csv")["test"].labels.tolist() == [1, 0]


def test_the_built_in_digits_need_no_file(tmp_path) -> None:
    out = tmp_path / "votes.csv"
    done = record("builtin", "--task", "digits", "--data", "builtin", "--out", str(out))
    assert done.exit_code == 0, done.output
    assert read_votes(out)["test"].accuracies["digits-mlp"] == pytest.approx(0.7546, abs=2e-3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--split", "train"], "--split 'train' is unknown; use dev or test"),
        (["--task", "digits"], "no variant does task 'digits'; the catalogue has mood"),
        (["--data", "builtin"], "--data builtin is the held-out digits, and task 'mood' takes other inputs"),
        (["--data", "missing.tsv"], "cannot read missing.tsv"),
    ],
)
def test_what_cannot_be_recorded_is_said(catalogue, data, tmp_path, arguments, words) -> None:
    given = {"--task": "mood", "--data": str(data), "--out": str(tmp_path / "v.csv")}
    given |= dict([arguments])
    done = record(str(catalogue), *(word for pair in given.items() for word in pair))
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


def test_a_label_of_no_class_is_refused(catalogue, data, tmp_path) -> None:
    data.write_text("fine\tgreat\n")
    done = record(str(catalogue), "--task", "mood", "--data", str(data), "--out", str(tmp_path / "v.csv"))
    assert done.exit_code == 2
    assert "line 1: label 'great' is unknown" in " ".join(done.stderr.split())


def test_votes_of_other_variants_are_not_mixed_in(catalogue, data, tmp_path) -> None:
    out = tmp_path / "votes.csv"
    out.write_text("split,label,three\ndev,0,1\n")
    done = record(str(catalogue), "--task", "mood", "--data", str(data), "--out", str(out))
    assert done.exit_code == 2
    assert "holds votes of other variants" in " ".join(done.stderr.split())
