"""``accord evaluate``: real models in, accuracies that the catalogue reads out."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from evaluate_scene import NAMES, ROWS, evaluate
from length_scene import add_to

from catalog.catalogue import BUILTIN, load_catalogue
from catalog.evaluation.interval import wilson
from catalog.evaluation.measured import AccuracySource
from catalog.votes import read_votes
from catalog.zoo.digits import held_out
from toy_models import write_toy_catalogue


def test_measured_accuracies_are_the_catalogues_from_then_on(digits: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "evaluation"
    done = evaluate(str(digits), "--data", str(data), "--out", str(out), "--json")
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout)
    assert (body["task"], body["metric"], body["examples"], body["failed"]) == ("digits", "accuracy", ROWS, {})
    loaded = load_catalogue(digits)
    recorded = read_votes(loaded.votes["digits"])
    assert {name: votes.rows for name, votes in recorded.items()} == {"dev": ROWS // 2, "test": ROWS // 2}
    for name in NAMES:
        variant, figures = loaded.variant(name), body["variants"][name]
        assert variant.origin.source is AccuracySource.MEASURED
        assert variant.accuracy == pytest.approx(figures["accuracy"], abs=1e-4)
        right = round(figures["accuracy"] * ROWS)
        assert (figures["low"], figures["high"]) == pytest.approx(wilson(right, ROWS))
        assert sum(each["examples"] for each in figures["classes"].values()) == ROWS
        share = np.mean([votes.accuracies[name] for votes in recorded.values()])
        assert share == pytest.approx(figures["accuracy"])
    assert (
        0.6
        < body["together"][NAMES[0]][NAMES[1]]["both_right"]
        <= min(body["variants"][name]["accuracy"] for name in NAMES)
    )
    page = (out / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 2
    assert all(name in page for name in NAMES)
    assert (out / "accuracy.png").stat().st_size > 5000
    with (out / "members.csv").open() as file:
        assert {row["member"] for row in csv.DictReader(file)} == set(NAMES)

    again = json.loads(evaluate(str(digits), "--data", str(data), "--out", str(out), "--json").stdout)
    assert all(each["kept_rows"] == ROWS for each in again["variants"].values())


def test_one_variant_alone_leaves_the_others_and_the_votes_as_they_are(
    digits: Path, data: Path, tmp_path: Path
) -> None:
    common = (str(digits), "--data", str(data), "--out", str(tmp_path / "e"), "--limit", "200")
    done = evaluate(*common, "--variant", "digits-mlp", "--metric", "macro_f1", "--split", "test")
    assert done.exit_code == 0, done.output
    assert "digits-mlp" in done.stdout
    loaded = load_catalogue(digits)
    measured = loaded.variant("digits-mlp").measured
    assert measured is not None
    assert (measured.metric, measured.examples) == ("macro_f1", 200)
    assert loaded.variant("digits-cnn-xs").measured is None
    assert loaded.votes == {}
    assert evaluate(*common, "--no-write").exit_code == 0
    assert load_catalogue(digits).variant("digits-cnn-xs").measured is None


def test_a_task_without_classes_is_scored_by_error_or_by_ones_own_metric(tmp_path: Path) -> None:
    catalogue = write_toy_catalogue(tmp_path)
    np.savez(tmp_path / "toy.npz", x=np.arange(3, dtype=np.float32), label=np.array([0.0, 2.0, 4.0]))
    common = (str(catalogue), "--data", str(tmp_path / "toy.npz"), "--out", str(tmp_path / "e"), "--json")
    refused = evaluate(*common)
    assert refused.exit_code == 2
    assert "compares classes, and the outputs of task 'toy' are y FP32 [-1]" in refused.stdout
    done = evaluate(*common, "--metric", "mean_absolute_error")
    assert done.exit_code == 1, "one of the models is broken, which is said"
    body = json.loads(done.stdout)
    assert {name: each["accuracy"] for name, each in body["variants"].items()} == {"brittle": 1.0, "good": 1.0}
    assert "corrupt" in body["failed"]["corrupt"]
    assert load_catalogue(catalogue).variant("good").accuracy == 1.0
    assert load_catalogue(catalogue).variant("corrupt").measured is None


def test_a_classifier_whose_classes_nobody_named_is_asked_for_labels(tmp_path: Path) -> None:
    catalogue = write_toy_catalogue(tmp_path)
    np.savez(tmp_path / "toy.npz", x=np.arange(3, dtype=np.float32), label=np.array([0, 1, 1]))
    content = yaml.safe_load(catalogue.read_text())
    for entry in content["variants"]:
        entry["outputs"] = [{"name": "label", "datatype": "INT64", "shape": [-1]}]
    catalogue.write_text(yaml.safe_dump(content))
    refused = evaluate(str(catalogue), "--data", str(tmp_path / "toy.npz"), "--out", str(tmp_path / "e"))
    assert refused.exit_code == 2
    assert (
        "the outputs of task 'toy' are label INT64 [-1] without labels; add `labels:` (the names of the classes, such "
        "as `labels: [cat, dog]`) to the variants, or, where answers are numbers, use mean_absolute_error"
    ) in " ".join(refused.stderr.split())


def test_answers_to_another_column_are_not_taken_for_those_to_this_one(tmp_path: Path) -> None:
    catalogue = write_toy_catalogue(tmp_path)
    (tmp_path / "toy.csv").write_text("wrong,right,twice,thrice\n4,0,0,0\n0,1,2,3\n1,2,4,6\n")
    common = (str(catalogue), "--data", str(tmp_path / "toy.csv"), "--out", str(tmp_path / "e"), "--json")
    common += ("--variant", "good", "--metric", "mean_absolute_error")
    found = []
    for column, label in (("wrong", "twice"), ("right", "twice"), ("right", "thrice"), ("wrong", "twice")):
        done = evaluate(*common, "--column", f"x={column}", "--label", label)
        assert done.exit_code == 0, done.output
        figures = json.loads(done.stdout)["variants"]["good"]
        found.append((figures["accuracy"], figures["kept_rows"]))
    assert found == [(0.0, 0), (1.0, 0), (0.5, 3), (0.0, 0)], "another label is compared with what was answered"


def test_rows_of_any_length_are_answered_as_if_alone(tmp_path: Path) -> None:
    catalogue = write_toy_catalogue(tmp_path)
    add_to(catalogue)
    (tmp_path / "spans.csv").write_text('ids,label\n"[1]",1\n"[2, 4, 9]",5\n"[5, 6]",5.5\n')
    common = (str(catalogue), "--task", "spans", "--data", str(tmp_path / "spans.csv"), "--out", str(tmp_path / "e"))
    done = evaluate(*common, "--metric", "mean_absolute_error", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["variants"]["spans"]["accuracy"] == pytest.approx(1.0, abs=1e-6)


def test_votes_of_two_splits_end_up_in_one_file(digits: Path, data: Path, tmp_path: Path) -> None:
    images, labels = held_out()
    np.savez(tmp_path / "more.npz", image=images[ROWS : ROWS + 100], label=labels[ROWS : ROWS + 100])
    for split, path in (("dev", data), ("test", tmp_path / "more.npz")):
        done = evaluate(str(digits), "--data", str(path), "--out", str(tmp_path / "e"), "--split", split)
        assert done.exit_code == 0, done.output
    for path in (tmp_path / "e" / "votes.csv", Path(load_catalogue(digits).votes["digits"])):
        assert {name: votes.rows for name, votes in read_votes(path).items()} == {"dev": ROWS, "test": 100}


def retrain(catalogue: Path) -> None:
    """The first variant is another model from now on."""
    models, content = catalogue.parent / "models", yaml.safe_load(catalogue.read_text())
    shutil.copy(BUILTIN.parent / "models" / "digits-cnn-s.onnx", models / f"{NAMES[0]}.onnx")
    for entry in content["variants"]:
        entry["artifact"].pop("sha256", None)
    catalogue.write_text(yaml.safe_dump(content))


def test_votes_of_a_variant_that_was_retrained_are_not_used_until_all_ran_again(
    digits: Path, data: Path, tmp_path: Path
) -> None:
    common = (str(digits), "--data", str(data), "--out", str(tmp_path / "e"), "--limit", "100")
    assert evaluate(*common).exit_code == 0
    before = load_catalogue(digits)
    assert before.outdated == {}
    retrain(digits)
    done = evaluate(*common, "--variant", NAMES[0])
    assert done.exit_code == 0, done.output
    loaded = load_catalogue(digits)
    assert loaded.variant(NAMES[0]).accuracy > before.variant(NAMES[0]).accuracy, "which is measured anew"
    assert loaded.outdated == {loaded.votes["digits"]: {NAMES[0]}}
    assert evaluate(*common).exit_code == 0
    assert load_catalogue(digits).outdated == {}


def test_rows_of_the_other_split_that_an_older_model_gave_are_left_out(
    digits: Path, data: Path, tmp_path: Path
) -> None:
    common = (str(digits), "--data", str(data), "--out", str(tmp_path / "e"), "--limit", "100")
    for split in ("dev", "test"):
        assert evaluate(*common, "--split", split).exit_code == 0
    files = (tmp_path / "e" / "votes.csv", Path(load_catalogue(digits).votes["digits"]))
    assert [set(read_votes(path)) for path in files] == [{"dev", "test"}] * 2
    retrain(digits)
    done = evaluate(*common, "--split", "dev")
    assert done.exit_code == 0, done.output
    assert [set(read_votes(path)) for path in files] == [{"dev"}] * 2
    assert f"the rows of split test are left out: {NAMES[0]} gave them" in " ".join(done.stderr.split())
    assert load_catalogue(digits).outdated == {}
    assert evaluate(*common, "--split", "test").exit_code == 0
    assert [set(read_votes(path)) for path in files] == [{"dev", "test"}] * 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--task", "none"), "no variant does task 'none'"),
        (("--variant", "digits-cnn-xl"), "no variant 'digits-cnn-xl'; the catalogue has"),
        (("--split", "train"), "--split 'train' is unknown; use both, dev, test"),
        (("--metric", "accurcy"), "metric 'accurcy' is unknown (did you mean 'accuracy'"),
        (("--column", "image"), "--column 'image': write INPUT=COLUMN"),
        (("--label", "truth"), "no column 'truth' with the truth"),
        (("--device", "tpu"), "device 'tpu' is unknown"),
    ],
)
def test_what_cannot_be_evaluated_is_said(
    digits: Path, data: Path, tmp_path: Path, arguments: tuple[str, str], words: str
) -> None:
    given = ("--data", str(data), "--out", str(tmp_path / "e"))
    if arguments[0] != "--variant":
        given += ("--task", "digits") if arguments[0] != "--task" else ()
    done = evaluate(str(digits), *given, *arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("metric", "label", "words"),
    [
        ("mean_absolute_error", "names", "labels are no numbers: could not convert string to float: 'yes'"),
        ("math:pi", "label", "metric 'math:pi' is a float, and cannot be called"),
        ("accuracy", "label", "compares classes, and the outputs of task 'toy' are y FP32 [-1]"),
    ],
)
def test_labels_that_do_not_fit_the_metric_are_refused_before_anything_runs(
    tmp_path: Path, metric: str, label: str, words: str
) -> None:
    catalogue = write_toy_catalogue(tmp_path)
    (tmp_path / "toy.csv").write_text("x,label,names\n0,0,yes\n1,2,no\n")
    common = (str(catalogue), "--data", str(tmp_path / "toy.csv"), "--out", str(tmp_path / "e"), "--label", label)
    done = evaluate(*common, "--metric", metric)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "e").exists()


def test_a_metric_of_ones_own_that_fails_is_said(tmp_path: Path) -> None:
    catalogue = write_toy_catalogue(tmp_path)
    np.savez(tmp_path / "toy.npz", x=np.arange(3, dtype=np.float32), label=np.array([0.0, 2.0, 4.0]))
    common = (str(catalogue), "--data", str(tmp_path / "toy.npz"), "--out", str(tmp_path / "e"))
    done = evaluate(*common, "--metric", "operator:getitem", "--variant", "good")
    assert done.exit_code == 2
    assert "metric 'operator:getitem' fails on 3 rows: TypeError: unhashable" in " ".join(done.stderr.split())


def test_where_nothing_can_be_written_nothing_is_run(digits: Path, data: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file where the folder should be")
    common = (str(digits), "--task", "digits", "--data", str(data))
    done = evaluate(*common, "--out", str(taken / "e"))
    assert done.exit_code == 2
    assert "name another folder with --out" in " ".join(done.stderr.split())
    done = evaluate(*common, "--out", str(tmp_path / "e"), "--accuracy-file", str(tmp_path / "none" / "a.json"))
    assert done.exit_code == 2
    assert "name another place with --accuracy-file" in " ".join(done.stderr.split())
    assert not list((tmp_path / "e").iterdir())


def test_a_built_in_catalogue_stays_as_it_is(tmp_path: Path) -> None:
    before = BUILTIN.read_text(), sorted(file.name for file in BUILTIN.parent.iterdir())
    common = ("builtin", "--task", "digits", "--data", "builtin", "--variant", "digits-mlp", "--limit", "50")
    done = evaluate(*common, "--out", str(tmp_path / "e"))
    assert done.exit_code == 0, done.output
    assert "stays as it is" in " ".join(done.stderr.split())
    assert (BUILTIN.read_text(), sorted(file.name for file in BUILTIN.parent.iterdir())) == before
    elsewhere = tmp_path / "zoo.accuracy.json"
    assert evaluate(*common, "--out", str(tmp_path / "e"), "--accuracy-file", str(elsewhere)).exit_code == 0
    assert list(json.loads(elsewhere.read_text())["variants"]) == ["digits-mlp"]
