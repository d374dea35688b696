"""The files of a new project."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from pydantic import TypeAdapter

from catalog.artifacts.external_data import external_files
from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from catalog.profiles.profile_cache import cache_dir
from catalog.store import FsspecStore, checksum
from catalog.tensor import TensorSpec
from catalog.variant import PYTHON, Artifact, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.making import make_runtime
from serve_app.cli.init.digits import SIDE, write_digits
from serve_app.cli.init.reading.described import Described
from serve_app.cli.init.reading.model import read_model

TEMPLATE = Path(__file__).parent / "template"
TASK, ENDPOINT = "digits-8x8", "digits"
CLASSES = 10
UNMEASURED = 0.5
"""What stands for an accuracy that nobody measured."""

_VARIANT = TypeAdapter(Variant)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A place to write a project, which becomes ``folder`` at the end; raises `ConfigError` where that is taken."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is there already, and nothing is overwritten; choose another name, or remove it")
    folder = folder.resolve()  # . has no name of its own
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".accord-init-", dir=folder.parent) as temporary:
            made = Path(temporary) / folder.name
            made.mkdir()
            yield made
            shutil.rmtree(made / "__pycache__", ignore_errors=True)
            if folder.exists():  # and empty; somebody may stand in it
                for each in made.iterdir():
                    os.replace(each, folder / each.name)
            else:
                os.replace(made, folder)
    except OSError as error:
        raise ConfigError(f"cannot write {folder}: {error.strerror or error}; choose another place") from error


def write_example(folder: Path, name: str) -> tuple[Variant, ...]:
    """Two classes for handwritten digits, with their accuracy on data that they have not seen."""
    count = write_digits(folder / "weights.npz", folder / "labelled.npz")
    shutil.copy(TEMPLATE / "models.py", folder)
    with np.load(folder / "labelled.npz") as file:
        images, labels = file["image"], file["label"]
    variants = []
    for variant in _example_variants():
        runtime = make_runtime(variant, FsspecStore(str(folder), cache_dir()), RuntimeOptions())
        runtime.load()
        right = float((runtime.run({"image": images})["label"] == labels).mean())
        runtime.unload()
        variants.append(replace(variant, accuracy=round(right, 4)))
    measured = f"accuracy: on the {count} images of labelled.npz, which were not learned from"
    _write_catalogue(folder, tuple(variants), measured)
    _write_from_template(folder, "serve.yaml", endpoint=ENDPOINT, task=TASK, slo_ms="100")
    _write_from_template(folder, "README.md", name=name, count=str(count))
    return tuple(variants)


def write_for_models(
    folder: Path, name: str, models: Mapping[str, Path], sizes: Mapping[str, int]
) -> tuple[Variant, ...]:
    """One variant per model file or folder, which stay where they are; each is loaded, and run once.

    Raises `ConfigError` for a model that cannot be read, models that differ in what they take and give, or a size of an
    axis that none of them has, and `ArtifactError` for one that does not load.
    """
    described = {variant: read_model(path, sizes) for variant, path in models.items()}
    _refuse_unknown_axes(sizes, described.values())
    variants = tuple(_variant_of(variant, name, path, described[variant]) for variant, path in models.items())
    Catalogue(variants, str(folder))  # refuses variants that are not interchangeable
    for variant in variants:
        runtime = make_runtime(variant, FsspecStore(str(folder), cache_dir()), RuntimeOptions())
        runtime.load()
        runtime.unload()
    _write_catalogue(folder, variants, f"accuracy: {UNMEASURED} stands for what nobody measured; put in what is true")
    _write_from_template(folder, "serve.yaml", endpoint=_in_yaml(name), task=_in_yaml(name), slo_ms="1000")
    return variants


def _refuse_unknown_axes(sizes: Mapping[str, int], described: Iterable[Described]) -> None:
    known = list(dict.fromkeys(axis for each in described for axis in each.axes))
    for axis, size in sizes.items():
        if axis not in known:
            have = f"axes of any length: {', '.join(known)}" if known else "no axis beside the batch is of any length"
            raise ConfigError(f"--size {axis}={size} fixes an axis that is not there; {have}; leave it out")


def _variant_of(variant: str, task: str, path: Path, read: Described) -> Variant:
    # the path as it was given: links in the cache of Hugging Face lead to files that the weights are not beside
    sha256 = None if external_files(path) else checksum(path)  # of the file alone it would say too little
    return Variant(
        name=variant,
        task=task,
        runtime=read.runtime,
        artifact=Artifact(str(path.absolute()), sha256),
        accuracy=UNMEASURED,
        inputs=read.inputs,
        outputs=read.outputs,
        labels=read.labels,
    )


def _example_variants() -> list[Variant]:
    inputs = (TensorSpec("image", "FP32", (-1, SIDE, SIDE)),)
    outputs = (TensorSpec("label", "INT64", (-1,)), TensorSpec("probabilities", "FP32", (-1, CLASSES)))
    return [
        Variant(
            name=name,
            task=TASK,
            runtime=PYTHON,
            artifact=Artifact(import_path=f"models:{of}"),
            accuracy=UNMEASURED,
            inputs=inputs,
            outputs=outputs,
        )
        for name, of in (("linear", "Linear"), ("neighbours", "Neighbours"))
    ]


def _write_catalogue(folder: Path, variants: tuple[Variant, ...], comment: str) -> None:
    entries = [_entry(variant) for variant in variants]
    text = yaml.safe_dump({"version": 1, "variants": entries}, sort_keys=False, default_flow_style=None, width=120)
    (folder / "catalogue.yaml").write_text(f"# {comment}\n{text}", encoding="utf-8")


def _entry(variant: Variant) -> dict[str, Any]:
    """A variant as people write it: without what is as by default."""
    dumped: dict[str, Any] = _VARIANT.dump_python(variant, mode="json", by_alias=True, exclude_defaults=True)
    return dumped


def _in_yaml(name: str) -> str:
    """In quotes where YAML would take it for a number, a date or a word of its own."""
    return str(yaml.safe_dump(name).splitlines()[0])


def _write_from_template(folder: Path, file: str, **values: str) -> None:
    text = Template((TEMPLATE / file).read_text(encoding="utf-8")).substitute(values)
    (folder / file).write_text(text, encoding="utf-8")
