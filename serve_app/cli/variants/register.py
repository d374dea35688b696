"""``accord register``: hand new variants to a running server."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError
from rich.table import Table
from rich.text import Text

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.faults import describe
from catalog.profiles.profile_cache import cache_dir
from catalog.store import FsspecStore
from catalog.variant import Artifact, Variant
from catalog.yaml_file import read_yaml
from serve_app.cli.call import CallFailed, post_object
from serve_app.cli.console import ERR, OUT, exit_codes, print_json
from serve_app.cli.options import DEFAULT_URL, AsJson, Url
from serve_app.loadgen.endpoint import base_url

TIMEOUT_S = 130.0
"""Above what the server itself waits for its controller, so that people read the server's words."""

_VARIANT = TypeAdapter(Variant)


def register(
    file: Annotated[Path, typer.Argument(help="YAML: one variant as in a catalogue, or a list under `variants:`.")],
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Measure variants on every pool of a running server, and let it plan with them from then on."""
    with exit_codes(as_json):
        variants = [_located(variant, file.parent) for variant in read_variants(file)]
        server_url = base_url(url)
        answers: list[dict[str, Any]] = []
        for variant in variants:
            with ERR.status(Text(f"{variant.name} is loaded and measured on every pool")):
                answers.append(_post(server_url, variant, answers))
        if as_json:
            print_json({"variants": answers})
        else:
            OUT.print(_table(answers))


def read_variants(file: Path) -> tuple[Variant, ...]:
    """What a file names; raises `ConfigError` naming the file, the field and the value that are wrong."""
    content = read_yaml(file, str(file), "the path of a YAML file")
    if isinstance(content, dict) and "variants" in content:
        variants = load_catalogue(file.absolute()).variants  # absolute, since `builtin` alone is another catalogue
        if not variants:
            raise ConfigError(f"{file} names no variant; put at least one under `variants:`")
        return variants
    try:
        return (_VARIANT.validate_python(content),)
    except ValidationError as error:
        raise ConfigError(f"variant {file}: {describe(error, Variant)}") from error


def _located(variant: Variant, folder: Path) -> Variant:
    """The variant with the absolute path of its file; raises `ArtifactError` for a local one that is not as named.

    What lies elsewhere is for the workers to fetch and check, and so are classes.
    """
    artifact = variant.artifact
    if artifact.import_path is not None:
        return variant
    if "://" not in artifact.uri:
        artifact = Artifact(str((folder / artifact.uri).absolute()), artifact.sha256)
    if artifact.uri.startswith(("/", "file://")):
        FsspecStore(str(folder), cache_dir()).fetch(artifact)
    return replace(variant, artifact=artifact)


def _post(server_url: str, variant: Variant, before: list[dict[str, Any]]) -> dict[str, Any]:
    url = f"{server_url}/accord/variants"
    try:
        return asyncio.run(post_object(url, server_url, TIMEOUT_S, _written(variant)))
    except CallFailed as error:
        done = ", ".join(answer["variant"] for answer in before)
        already = f"; registered before it: {done}" if done else ""
        raise CallFailed(f"variant {variant.name!r} is not registered: {error}{already}") from error


def _written(variant: Variant) -> bytes:
    """A variant as a catalogue has it, which servers before `import` can read as well."""
    return _VARIANT.dump_json(variant, by_alias=True, exclude_defaults=True)


def _table(answers: list[dict[str, Any]]) -> Table:
    profiles = [
        (answer["variant"], pool, dict(zip(profile["batch_sizes"], profile["p95_ms"], strict=True)))
        for answer in answers
        for pool, profile in answer["profiles"].items()
    ]
    sizes = sorted({size for _, _, p95_ms in profiles for size in p95_ms})
    table = Table("variant", "pool", title="Registered; p95 latency in ms per batch size", title_justify="left")
    for size in sizes:
        table.add_column(str(size), justify="right")
    for variant, pool, p95_ms in profiles:
        table.add_row(Text(variant), Text(pool), *(f"{p95_ms[size]:.2f}" if size in p95_ms else "-" for size in sizes))
    return table
