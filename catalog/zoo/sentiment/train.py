"""Trains the variants of task ``sentiment``: ``python -m catalog.zoo.sentiment.train --train FILE --dev FILE ...``.

The files are TSV: a text, a tab and a label per line; any texts and labels will do. What is written is small: updates
and heads of the pretrained encoder, n-gram tables, ``trained.json``, and ``votes.csv``, what every variant says of
the development file and of the test file. `catalog.zoo.sentiment.build` makes models of it.

Variants that are in the folder already, trained by the same recipe on the same texts, are kept.
"""

import argparse
import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from catalog.errors import AccordError, ConfigError
from catalog.texts.labelled_texts import LabelledTexts, read_labelled
from catalog.texts.token_estimate import estimated_tokens
from catalog.texts.tokens import TextTokenizer
from catalog.votes import RecordedVotes, write_votes
from catalog.zoo.sentiment.build import build
from catalog.zoo.sentiment.characters import MAX_CHARACTERS, character_tokenizer
from catalog.zoo.sentiment.deltas import packed, pretrained_weights
from catalog.zoo.sentiment.ngram_fit import fit_ngrams
from catalog.zoo.sentiment.predict import predicted
from catalog.zoo.sentiment.pretrained import TOKENIZER, pretrained_folder
from catalog.zoo.sentiment.recipes import MAX_LENGTH, RECIPES, EncoderRecipe, NgramRecipe, Recipe
from catalog.zoo.sentiment.trained import VOTES, Tensors, TrainedFiles, TrainedTask, TrainedVariant

OnProgress = Callable[[str, float], object]
"""Called with what is in hand and the share, 0 to 1, of it that is done."""


@dataclass(frozen=True)
class Settings:
    """How to train, whatever the data are."""

    task: str = "sentiment"
    labels: tuple[str, ...] | None = None
    """Class names in the order of the sorted labels of the file; None: the labels themselves."""
    threads: int = 1
    half_precision: bool = False
    """See `encoder_fit.fit_encoder`."""


def train(
    files: dict[str, Path],
    out: Path,
    settings: Settings,
    recipes: Sequence[Recipe] = RECIPES,
    on_progress: OnProgress = lambda _what, _share: None,
) -> None:
    """Train ``recipes`` on ``files['train']`` into ``out``, and record votes on ``dev`` and, where given, ``test``.

    Raises `ConfigError` for a file that is wrong.
    """
    data = {split: read_labelled(path) for split, path in files.items()}
    known = _known_labels(data["train"], files["train"])
    classes = {split: texts.classes(known, files[split]) for split, texts in data.items()}
    names = settings.labels or known
    if len(names) != len(known):
        raise ConfigError(f"{len(names)} labels are named ({', '.join(names)}), but {files['train']} has {len(known)}")
    out.mkdir(parents=True, exist_ok=True)
    written = TrainedFiles(out)
    fit_all(recipes, data["train"], classes["train"], written, settings, on_progress)
    typical = round(fmean(map(estimated_tokens, data["train"].texts)))
    task = TrainedTask(settings.task, names, MAX_LENGTH, tuple(_described(recipe) for recipe in recipes), typical)
    written.write(task)
    asked = {split: texts for split, texts in data.items() if split != "train"}
    votes = _votes(task, written, asked, classes, settings.threads)
    accuracies = votes["dev"].accuracies
    rated = tuple(replace(variant, accuracy=round(accuracies[variant.name], 4)) for variant in task.variants)
    written.write(replace(task, variants=rated))
    write_votes(out / VOTES, votes)


def fit_all(
    recipes: Sequence[Recipe],
    texts: LabelledTexts,
    classes: NDArray[np.int64],
    written: TrainedFiles,
    settings: Settings,
    on_progress: OnProgress,
) -> None:
    """Write the tensors of every recipe that is not trained already."""
    for recipe in recipes:
        fingerprint = hashlib.sha256(f"{recipe} {texts} {settings.half_precision}".encode()).hexdigest()
        if written.fingerprint(recipe.name) == fingerprint:
            continue
        on_progress(recipe.name, 0.0)
        tensors = _fit(recipe, texts.texts, classes, settings, partial(on_progress, recipe.name))
        written.write_tensors(recipe.name, tensors, fingerprint)


def _fit(
    recipe: Recipe,
    texts: Sequence[str],
    classes: NDArray[np.int64],
    settings: Settings,
    on_share: Callable[[float], object],
) -> Tensors:
    pretrained = pretrained_folder()
    if isinstance(recipe, NgramRecipe) and recipe.unit == "character":
        with tempfile.TemporaryDirectory() as folder:
            character_tokenizer().save(str(Path(folder) / TOKENIZER))
            ids = TextTokenizer(Path(folder) / TOKENIZER, MAX_CHARACTERS).ids(texts)
    else:
        ids = TextTokenizer(pretrained / TOKENIZER, MAX_LENGTH).ids(texts)
    if isinstance(recipe, NgramRecipe):
        model = fit_ngrams(recipe, ids, classes)
        on_share(1.0)
        small = np.uint8 if model.ngrams.max() < 256 else np.uint16
        return {
            "ngrams": model.ngrams.astype(small),
            "scale": model.scale,
            "weight": model.weight,
            "bias": model.bias,
        }
    import torch  # only encoders need it

    from catalog.zoo.sentiment.encoder_fit import fit_encoder

    torch.set_num_threads(settings.threads)
    learned = fit_encoder(
        recipe,
        pretrained_weights(pretrained),
        ids,
        classes,
        int(classes.max()) + 1,
        half_precision=settings.half_precision,
        on_share=on_share,
    )
    return packed(learned)


def _known_labels(texts: LabelledTexts, path: Path) -> tuple[str, ...]:
    """The labels of a file in order, of numbers if all are; raises `ConfigError` where there is but one."""
    found = set(texts.labels)
    if len(found) < 2:
        raise ConfigError(f"{path} has no label but {', '.join(found)!r}; give texts of at least two classes")
    return tuple(sorted(found, key=int) if all(label.isdecimal() for label in found) else sorted(found))


def _described(recipe: Recipe) -> TrainedVariant:
    """What the builder has to know, the accuracy still to come."""
    if isinstance(recipe, EncoderRecipe):
        return TrainedVariant(recipe.name, 0.0, recipe.layers, recipe.pooling)
    return TrainedVariant(recipe.name, 0.0, unit=recipe.unit, normalised=recipe.method == "logistic")


def _votes(
    task: TrainedTask,
    written: TrainedFiles,
    data: dict[str, LabelledTexts],
    classes: dict[str, NDArray[np.int64]],
    threads: int,
) -> dict[str, RecordedVotes]:
    """What the built models say of each split of ``data``."""
    members = tuple(variant.name for variant in task.variants)
    with tempfile.TemporaryDirectory() as folder:
        models = build(Path(folder) / "models", written.folder).parent

        def said(variant: TrainedVariant, texts: LabelledTexts) -> NDArray[np.int64]:
            return predicted(models / variant.name, texts.texts, task.max_length_of(variant), threads)

        return {
            split: RecordedVotes(
                members,
                classes[split],
                np.stack([said(variant, texts) for variant in task.variants], axis=1),
                len(task.labels),
            )
            for split, texts in data.items()
        }


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description="Train the variants of task sentiment on texts and labels (TSV).")
    parser.add_argument("--train", type=Path, required=True, help="texts to learn from")
    parser.add_argument("--dev", type=Path, required=True, help="texts that accuracy is measured on")
    parser.add_argument("--test", type=Path, help="texts to record votes on, for benchmarks")
    parser.add_argument("--out", type=Path, required=True, help="where to write")
    parser.add_argument("--task", default="sentiment", help="name of the task in the catalogue")
    parser.add_argument("--labels", help="class names, comma-separated, in the order of the sorted labels")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bf16", action="store_true", help="compute in bfloat16: fast on CPUs that have it")
    given = parser.parse_args()
    files = {"train": given.train, "dev": given.dev} | ({"test": given.test} if given.test else {})
    labels = tuple(given.labels.split(",")) if given.labels else None
    with tqdm(total=len(RECIPES), bar_format="{desc} {n:.2f} of {total} |{bar}| {elapsed}") as bar:
        order = [recipe.name for recipe in RECIPES]

        def shown(name: str, share: float) -> None:
            bar.set_description_str(name)
            bar.update(order.index(name) + share - bar.n)

        try:
            train(files, given.out, Settings(given.task, labels, given.threads, given.bf16), on_progress=shown)
        except AccordError as error:
            parser.exit(2, f"error: {error}\n")


if __name__ == "__main__":
    main()
