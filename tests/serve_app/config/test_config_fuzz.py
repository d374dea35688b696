"""Every config, catalogue and Serve file, however wrong, is read or refused with a `ConfigError`."""

import contextlib
import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from serve_app.cli.config_file import read_serve_file, write_served
from serve_app.cli.variants.register import read_variants
from serve_app.config.read import app_config
from serve_app.config.schema import AppConfig

ROOT = Path(__file__).parents[3]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
ON_FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from([-1, 0, 2**63, 10**400, math.nan, math.inf, "", "\0", "../../etc/passwd", "x" * 5000, "\ud800"]),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(SCALARS, inner, max_size=3)),
    max_leaves=8,
)


def args_of(path: Path) -> dict[str, Any]:
    content = yaml.safe_load(path.read_text())
    return dict(content["applications"][0]["args"])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a config, the whole last."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*path, number))
    yield path


def changed(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    if not path:
        return to
    made = copy.deepcopy(value)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return made


def read(args: Any) -> AppConfig | None:
    try:
        return app_config(args)
    except ConfigError:
        return None


@settings(max_examples=300)
@given(ANYTHING)
def test_arguments_of_any_form_are_refused(args: Any) -> None:
    assert read(args) is None


@settings(max_examples=400)
@given(st.sampled_from(CONFIGS), st.data())
def test_a_config_with_anything_in_any_place_is_read_or_refused(path: Path, data: st.DataObject) -> None:
    args = args_of(path)
    where = data.draw(st.sampled_from(list(places(args))))
    made = read(changed(args, where, data.draw(ANYTHING)))
    assert made is None or made.endpoints


@settings(max_examples=200)
@given(st.sampled_from(sorted(AppConfig.model_fields)), ANYTHING)
def test_any_section_may_hold_anything(section: str, value: Any) -> None:
    read(args_of(CONFIGS[0]) | {section: value})


NASTY = [
    b"[" * 5_000,
    b"{a: " * 5_000,
    b"- " * 5_000,
    b"a: 2001-99-99",
    b"? [a]\n: b",
    b"? {a: b}\n: c",
    b"a: !!python/object/apply:os.system [id]",
    b"!!python/name:os.system",
    b"a: &a [*a]",
    b"a: 0b",
    b"a: 1:99:99",
    b"a: !!int x",
    b"a: !!float x",
    b"a: !!binary x",
    b"a: !!timestamp x",
    b"a: .nan\nb: .inf",
    b"<<: [1, 2]",
    b"<<: *x",
    b"\xff\xfe\x00",
    b"\x00",
    b"a\tb: \x07",
    b"%YAML 9.9\n---\na: b",
    b"---\n---\n",
    b"",
    b"null",
    b"7",
    b"applications: [{import_path: serve_app.main:build, args: 7}]",
    b"applications: {}",
    b"http_options: 7\napplications: [{import_path: 'serve_app.main:build'}]",
    b"variants: 7",
    b"variants: [{}]",
    b"variants: [7, [], null]",
    b"votes: [1]\nvariants: []",
]


def refused_or_read(path: Path) -> None:
    for reader in (
        read_serve_file,
        load_catalogue,
        read_variants,
        lambda file: write_served(file, file.parent / "copy", emulate=True, host=None),
    ):
        with contextlib.suppress(ConfigError):
            reader(path)


@pytest.mark.parametrize("content", NASTY, ids=range(len(NASTY)))
def test_a_nasty_file_is_refused_by_whoever_reads_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "copy").mkdir()
    path = tmp_path / "nasty.yaml"
    path.write_bytes(content)
    refused_or_read(path)


@ON_FILES
@given(st.binary(max_size=60))
def test_a_file_of_any_bytes_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "copy").mkdir(exist_ok=True)
    path = tmp_path / "any.yaml"
    path.write_bytes(content)
    refused_or_read(path)


@ON_FILES
@given(st.sampled_from(CONFIGS), st.data())
def test_a_good_file_with_bytes_changed_is_read_or_refused(tmp_path: Path, path: Path, data: st.DataObject) -> None:
    (tmp_path / "copy").mkdir(exist_ok=True)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=10))
    changed_file = tmp_path / "changed.yaml"
    changed_file.write_bytes(bytes(content))
    refused_or_read(changed_file)


def test_a_bomb_of_aliases_does_not_grow(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines))
    for reader in (read_serve_file, load_catalogue):
        with pytest.raises(ConfigError) as refused:
            reader(path)
        assert len(str(refused.value)) < 100_000
