"""``accord init``: write a project that runs at once."""

import re
from pathlib import Path
from typing import Annotated

import typer

from catalog.errors import ConfigError
from catalog.variant import Variant
from serve_app.cli.console import ERR, OUT, exit_codes, print_json
from serve_app.cli.options import AsJson
from serve_app.config.schema import PATH_WORDS

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def init(
    name: Annotated[
        str | None, typer.Argument(help="The folder to write; with --from, by default named like it.")
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", help="An ONNX file, an exported PyTorch program or a transformers folder; several for one task."
        ),
    ] = None,
    size: Annotated[
        list[str] | None, typer.Option(help="With --from: fix an axis of any length, such as sequence=64.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a project: two Python classes that serve a task, or a config for models that you have."""
    from serve_app.cli.init.project import new_folder, write_example, write_for_models  # with scikit-learn: a second

    with exit_codes(as_json):
        sizes = dict(_size(each) for each in size or ())
        if sizes and not models:
            raise ConfigError(f"--size {size[0] if size else ''} fixes an axis of a model; give --from as well")
        if name is None and not models:
            raise ConfigError("give the name of a folder: `accord init NAME`, or a model: `accord init --from FILE`")
        folder = Path(name) if name is not None else Path(_stem(models[0]) if models else "")
        project = folder.absolute().name
        if not NAME.fullmatch(project):
            raise ConfigError(f"{project!r} is no name; use letters, digits, dots, dashes and underscores")
        if models and project in PATH_WORDS:
            raise ConfigError(f"no endpoint can be called {project!r}, which is a path; give the folder another name")
        with ERR.status("Writing the project and trying its variants"), new_folder(folder) as made:
            if models:
                variants = write_for_models(made, project, _named(models), sizes)
            else:
                variants = write_example(made, project)
        _print(folder, project, variants, from_models=bool(models), as_json=as_json)


def _print(folder: Path, project: str, variants: tuple[Variant, ...], *, from_models: bool, as_json: bool) -> None:
    if as_json:
        print_json({"folder": str(folder), "variants": {v.name: {"accuracy": v.accuracy} for v in variants}})
        return
    for each in variants:
        takes = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in each.inputs)
        gives = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in each.outputs)
        OUT.print(f"{each.name}: {takes} to {gives}", markup=False, highlight=False, soft_wrap=True)
    OUT.print(f"\ncd {folder} && accord run", markup=False, highlight=False, soft_wrap=True)
    if from_models:
        OUT.print(
            "Their accuracy is not known: measure it, and put it into catalogue.yaml.", highlight=False, soft_wrap=True
        )
        _hint_at_labels(variants)
    else:
        OUT.print("accord query --dataset labelled.npz   # there, in another terminal", markup=False, highlight=False)


def _hint_at_labels(variants: tuple[Variant, ...]) -> None:
    """Say that classes want names, where the answers of a model may be classes."""
    from serve_app.cli.evaluate.class_labels import ADD_LABELS, unnamed_classes  # with all that serves

    for each in variants:
        spec = unnamed_classes(each)
        if spec is not None:
            OUT.print(
                f"If {spec.name} {spec.datatype} {list(spec.shape)} of {each.name} is a class, {ADD_LABELS} in "
                "catalogue.yaml: accord evaluate needs them.",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
            return


def _size(written: str) -> tuple[str, int]:
    axis, equals, size = written.partition("=")
    if not (axis and equals and size.isdigit() and int(size) > 0):
        raise ConfigError(
            f"--size {written!r} is not right; write the name of an axis and its size, such as sequence=64"
        )
    return axis, int(size)


def _named(models: list[Path]) -> dict[str, Path]:
    """Models by the name of their file; raises `ConfigError` where two have the same."""
    found: dict[str, Path] = {}
    for path in models:
        name = _stem(path)
        if name in found:
            raise ConfigError(f"--from {path} and --from {found[name]} are both called {name!r}; rename one")
        found[name] = path
    return found


def _stem(path: Path) -> str:
    resolved = path.absolute()
    name = resolved.name if resolved.is_dir() else resolved.stem
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "model"
