"""From trained files to models and their catalogue; training on texts that a second suffices for."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from text_scene import labelled, write_small_pretrained, write_tsv

from catalog import catalogue as catalogues
from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.texts.labelled_texts import read_labelled
from catalog.texts.token_estimate import estimated_tokens
from catalog.votes import read_votes
from catalog.zoo.sentiment import build as building
from catalog.zoo.sentiment import train as training
from catalog.zoo.sentiment.build import SHIPPED, build
from catalog.zoo.sentiment.recipes import RECIPES, EncoderRecipe, NgramRecipe
from catalog.zoo.sentiment.train import Settings, train
from catalog.zoo.sentiment.trained import TrainedFiles
from deployments.worker.voting import recorded

TINY = (
    NgramRecipe("bayes", "naive_bayes", "token", (1, 2), most=50),
    NgramRecipe("characters", "logistic", "character", (2, 4), most=300, strength=4.0),
    EncoderRecipe("encoder", layers=(0, 2), pooling="mean", seed=1, epochs=12, learning_rate=0.05, dropout=0.0),
)


@pytest.fixture(scope="module")
def small_pretrained(tmp_path_factory):
    return write_small_pretrained(tmp_path_factory.mktemp("pretrained"))


@pytest.fixture(autouse=True)
def _small(small_pretrained, monkeypatch):
    monkeypatch.setattr(building, "pretrained_folder", lambda: small_pretrained)
    monkeypatch.setattr(training, "pretrained_folder", lambda: small_pretrained)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return {
        split: write_tsv(folder / f"{split}.tsv", labelled(count, seed))
        for split, count, seed in (("train", 160, 1), ("dev", 60, 2), ("test", 40, 3))
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory, files, small_pretrained):
    """The tiny recipes, trained."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "pretrained_folder", lambda: small_pretrained)
        patch.setattr(training, "pretrained_folder", lambda: small_pretrained)
        train(files, folder, Settings(labels=("negative", "positive")), TINY)
    return folder


def test_trained_variants_are_far_better_than_chance_on_texts_that_they_never_saw(trained) -> None:
    task = TrainedFiles(trained).read()
    assert [variant.name for variant in task.variants] == ["bayes", "characters", "encoder"]
    assert task.labels == ("negative", "positive")
    assert all(variant.accuracy > 0.8 for variant in task.variants)


def test_votes_of_dev_and_test_are_recorded_and_accuracy_is_that_of_dev(trained) -> None:
    votes = read_votes(trained / "votes.csv")
    assert {split: recorded.rows for split, recorded in votes.items()} == {"dev": 60, "test": 40}
    for variant in TrainedFiles(trained).read().variants:
        assert votes["dev"].accuracies[variant.name] == pytest.approx(variant.accuracy, abs=1e-4)


def test_training_again_keeps_what_is_there_and_trains_what_changed(trained, files) -> None:
    heard: list[str] = []
    train(files, trained, Settings(labels=("negative", "positive")), TINY, lambda what, _: heard.append(what))
    assert heard == []
    changed = {**files, "train": files["dev"]}
    train(changed, trained.parent / "other", Settings(), TINY[:1], lambda what, _: heard.append(what))
    assert set(heard) == {"bayes"}


def test_training_is_repeatable(trained, files, tmp_path) -> None:
    train(files, tmp_path / "again", Settings(labels=("negative", "positive")), TINY)
    for recipe in TINY:
        first, second = (TrainedFiles(folder).tensors(recipe.name) for folder in (trained, tmp_path / "again"))
        assert first.keys() == second.keys()
        assert all((first[name] == second[name]).all() for name in first)


def test_built_variants_vote_through_the_real_runtime_as_the_trainer_recorded(trained, files, tmp_path) -> None:
    import numpy as np

    catalogue = load_catalogue(build(tmp_path / "built", trained))
    texts = np.array(read_labelled(files["test"]).texts, dtype=object)
    records = recorded(catalogue.variants, catalogue.root, {"text": texts}, 1, lambda *_: None)
    votes = read_votes(trained / "votes.csv")["test"]
    for column, member in enumerate(votes.members):
        np.testing.assert_array_equal(records[member].votes, votes.predictions[:, column])


def test_encoders_declare_the_lengths_of_the_training_texts_and_n_grams_none(trained, files, tmp_path) -> None:
    texts = read_labelled(files["train"]).texts
    lengths = {v.name: v.lengths for v in load_catalogue(build(tmp_path / "built", trained)).variants}
    assert (lengths["bayes"], lengths["characters"]) == (None, None)
    assert lengths["encoder"].longest == 128
    assert lengths["encoder"].typical == pytest.approx(sum(map(estimated_tokens, texts)) / len(texts), abs=0.5)
    assert TrainedFiles(SHIPPED).read().typical_length == 24


def test_a_catalogue_comes_with_the_votes_on_dev_alone(trained, tmp_path) -> None:
    catalogue = load_catalogue(build(tmp_path / "built", trained))
    votes = read_votes(catalogue.votes["sentiment"])
    assert list(votes) == ["dev"]
    assert votes["dev"].accuracies == {
        variant.name: pytest.approx(variant.accuracy, abs=1e-4) for variant in catalogue.variants
    }


def test_a_second_build_does_nothing(trained, tmp_path) -> None:
    heard: list[str] = []
    catalogue = build(tmp_path / "built", trained, lambda what, _: heard.append(what))
    assert heard == ["the pretrained encoder", "bayes", "characters", "encoder", "done"]
    written = catalogue.stat().st_mtime_ns
    assert build(tmp_path / "built", trained, lambda what, _: heard.append(what)) == catalogue
    assert len(heard) == 5
    assert catalogue.stat().st_mtime_ns == written


def test_two_builds_at_once_leave_one_whole_folder(trained, tmp_path) -> None:
    made: list[Path] = []
    threads = [threading.Thread(target=lambda: made.append(build(tmp_path / "built", trained))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [tmp_path / "built" / "catalogue.yaml"] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["built"]
    assert len(load_catalogue(made[0]).variants) == 3


def test_what_a_killed_build_left_is_removed_and_what_another_makes_or_somebody_else_has_is_not(
    trained, tmp_path
) -> None:
    target, code = tmp_path / "built", "import sys; from pathlib import Path; "
    code += "from catalog.zoo.sentiment.temporary import temporary_beside as beside; made = beside(Path(sys.argv[1])); "
    code += "print(made.__enter__(), flush=True); sys.stdin.read()"
    makers = [
        subprocess.Popen([sys.executable, "-c", code, str(target)], stdin=-1, stdout=-1, text=True) for _ in range(2)
    ]
    killed, alive = (Path(maker.stdout.readline().strip()) for maker in makers)
    makers[0].kill()
    makers[0].wait()
    (killed / "part").write_text("left")
    mine = tmp_path / ".built-abcdefgh"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    assert killed.is_dir()
    build(target, trained)
    assert not killed.parent.exists()
    assert alive.is_dir()
    assert mine.is_dir()
    makers[1].kill()
    for maker in makers:
        maker.communicate()


def test_a_build_that_fails_leaves_nothing(trained, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(building, "encoder_model", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build(tmp_path / "built", trained)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_else_is_left_alone(trained, tmp_path) -> None:
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds something else than this build; name a new or empty folder"):
        build(tmp_path / "built", trained)
    assert [path.name for path in (tmp_path / "built").iterdir()] == ["mine.txt"]


def test_the_name_sentiment_stands_for_what_ships_and_is_built_once(trained, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(building, "SHIPPED", trained)
    heard: list[str] = []
    first = load_catalogue("sentiment", lambda what, _: heard.append(what))
    assert len(heard) == 5
    assert load_catalogue("sentiment", lambda what, _: heard.append(what)) == first
    assert len(heard) == 5
    assert first.tasks == ("sentiment",)
    assert "sentiment" in catalogues.NAMED


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("fine\t1\nwarm\t1\n", "has no label but '1'; give texts of at least two classes"),
        ("fine 1\n", "line 1: 'fine 1'; write a text, one tab and a label"),
    ],
)
def test_a_file_that_cannot_be_trained_on_is_named(files, tmp_path, content, words) -> None:
    (tmp_path / "bad.tsv").write_text(content)
    with pytest.raises(ConfigError, match=words):
        train({**files, "train": tmp_path / "bad.tsv"}, tmp_path / "out", Settings(), TINY)


def test_labels_that_training_does_not_know_are_refused(files, tmp_path) -> None:
    (tmp_path / "dev.tsv").write_text("fine\tgreat\n")
    with pytest.raises(ConfigError, match=r"line 1: label 'great' is unknown; use one of pan, praise"):
        train({**files, "dev": tmp_path / "dev.tsv"}, tmp_path / "out", Settings(), TINY)


def test_what_ships_is_small_and_complete() -> None:
    task = TrainedFiles(SHIPPED).read()
    assert [variant.name for variant in task.variants] == [recipe.name for recipe in RECIPES]
    assert len(task.variants) >= 7
    assert sum(file.stat().st_size for file in SHIPPED.iterdir()) < 2e6
    votes = read_votes(SHIPPED / "votes.csv")
    assert list(votes) == ["dev"]
    for variant in task.variants:
        assert votes["dev"].accuracies[variant.name] == pytest.approx(variant.accuracy, abs=1e-4)
