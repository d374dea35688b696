from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.cocktail.scene import Inputs, Scene
from benchmarks.cocktail.votes.class_accuracy import ClassAccuracy, read_class_accuracy, synthetic_class_accuracy
from benchmarks.cocktail.votes.drawn_votes import draw_votes
from benchmarks.cocktail.votes.stand_ins import say_stand_ins
from benchmarks.ensemble.cases import drawn
from catalog.errors import ConfigError

HEADER = "variant,class_wnid,correct_of_50\n"
ACCURACY = {"small": 0.70, "middle": 0.75, "large": 0.80}


def test_every_member_has_its_accuracy_in_every_class() -> None:
    asked = ClassAccuracy(("a", "b"), np.array([[0.9, 0.5], [0.3, 0.6], [0.7, 0.7]]))
    votes = draw_votes(asked, rows=60_000, seed=1, correlation=0.6)
    right = votes.predictions == votes.labels[:, None]
    for number in range(3):
        assert right[votes.labels == number].mean(axis=0) == pytest.approx(asked.correct[number], abs=0.015)


def test_errors_come_together_as_the_correlation_says() -> None:
    asked = ClassAccuracy(("a", "b"), np.full((10, 2), 0.5))
    for correlation in (0.0, 0.5, 0.9):
        votes = draw_votes(asked, rows=60_000, seed=2, correlation=correlation)
        right = votes.predictions == votes.labels[:, None]
        # Both are right with probability 1/4 + asin(correlation) / (2 pi), for a threshold at the median (Sheppard).
        assert right.all(axis=1).mean() == pytest.approx(0.25 + np.arcsin(correlation) / (2 * np.pi), abs=0.01)


def test_wrong_answers_are_few_classes_that_members_share() -> None:
    votes = draw_votes(synthetic_class_accuracy(ACCURACY, classes=50, seed=3), rows=40_000, seed=3, correlation=0.6)
    wrong = votes.predictions != votes.labels[:, None]
    for label in range(50):
        assert len(np.unique(votes.predictions[(votes.labels == label)[:, None] & wrong])) <= 5
    both = wrong[:, 0] & wrong[:, 1]
    assert (votes.predictions[both, 0] == votes.predictions[both, 1]).mean() > 0.4


def test_draws_of_one_seed_are_the_same() -> None:
    asked = synthetic_class_accuracy(ACCURACY, classes=20, seed=0)
    one, same, other = (draw_votes(asked, rows=100, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(one.predictions, same.predictions)
    assert np.array_equal(one.labels, same.labels)
    assert not np.array_equal(one.labels, other.labels)


def test_a_correlation_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="correlation is 1"):
        draw_votes(synthetic_class_accuracy(ACCURACY, classes=20, seed=0), rows=1, seed=0, correlation=1.0)


def test_other_mean_accuracies_keep_the_order_of_classes() -> None:
    own = ClassAccuracy(("a", "b"), np.array([[0.9, 0.5], [0.3, 0.6], [0.7, 0.7]]))
    moved = own.at({"a": 0.8, "c": 0.65})
    assert moved.members == ("a", "c")
    assert moved.correct.mean(axis=0) == pytest.approx([0.8, 0.65])
    assert np.array_equal(np.argsort(moved.correct[:, 0]), np.argsort(own.correct[:, 0]))
    assert np.array_equal(np.argsort(moved.correct[:, 1]), np.argsort(own.correct[:, 0]))  # 0.63 is nearest to 0.65


def test_counts_of_50_images_are_read(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "counts.csv"
    path.write_text("variant,class_wnid,correct_of_50\na,n2,50\na,n1,0\nb,n1,25\nb,n2,10\n")
    read = read_class_accuracy(path)
    assert read.members == ("a", "b")
    assert read.correct == pytest.approx(np.array([[0.5, 25.5], [50.5, 10.5]]) / 51)


def test_members_have_the_names_of_table_1_and_those_that_lack_classes_are_told(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    rows = {"MobileNet": (40, 30), "Xception": (50, 45)}
    path.write_text(
        HEADER + "".join(f"{name},n{n},{count}\n" for name, own in rows.items() for n, count in enumerate(own))
    )
    read = read_class_accuracy(path)
    assert read.members == ("MobileNetV1", "Xception")
    assert read.stand_ins({"MobileNetV1": 0.7, "NASNetLarge": 0.82, "MobileNetV2": 0.71}) == {
        "NASNetLarge": "Xception",
        "MobileNetV2": "MobileNetV1",
    }
    assert drawn(path).test.classes == Scene(Inputs(class_accuracy=path)).accuracy.classes == 2
    said = StringIO()
    say_stand_ins(path, Console(file=said, width=80))
    assert "NASNetLarge has those of Xception" in said.getvalue()
    assert "MobileNetV1 has" not in said.getvalue()


def test_a_file_with_both_names_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(HEADER + "MobileNet,a,1\nMobileNet,b,2\nMobileNetV1,a,3\nMobileNetV1,b,4\n")
    assert read_class_accuracy(path).members == ("MobileNet", "MobileNetV1")


def test_a_member_without_all_classes_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "counts.csv"
    path.write_text("variant,class_wnid,correct_of_50\na,n1,0\na,n2,1\nb,n1,25\n")
    with pytest.raises(ConfigError, match="'b' has no count for 1 classes, 'n2'"):
        read_class_accuracy(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no column variant, class_wnid, correct_of_50; give"),
        ("variant,class_wnid\na,n1\n", r"has no column correct_of_50; give variant"),
        (HEADER, "has 0 classes; give two or more"),
        (HEADER + "a,n1,7\nb,n1,8\n", "has 1 classes; give two or more"),
        (HEADER + "a,n1,7\na,n2,51\n", r"line 3: correct_of_50 is '51'; give a whole number from 0 to 50"),
        (HEADER + "a,n1,-1\n", r"line 2: correct_of_50 is '-1'"),
        (HEADER + "a,n1,0.5\n", r"line 2: correct_of_50 is '0.5'"),
        (HEADER + "a,n1\n", r"line 2: correct_of_50 is None"),
    ],
)
def test_counts_that_cannot_be_used_are_refused_in_words(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=rf"counts\.csv.*{message}"):
        read_class_accuracy(path)


def test_counts_are_read_as_windows_writes_them_and_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_bytes(b"\xef\xbb\xbfcorrect_of_50,variant,class_wnid\r\n50,a,n1\r\n0,a,n2\r\n")
    assert read_class_accuracy(path).correct == pytest.approx(np.array([[50.5], [0.5]]) / 51)
    with pytest.raises(ConfigError, match=r"cannot read .*none\.csv"):
        read_class_accuracy(tmp_path / "none.csv")
