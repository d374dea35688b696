"""Files beside a user's config that would be imported instead of Accord's packages. Imports nothing of Accord."""

from collections.abc import Iterable
from pathlib import Path

PACKAGES = (
    "autoscaler",
    "catalog",
    "deployments",
    "dispatch",
    "forecast",
    "predictor",
    "serve_app",
    "simulator",
    "workload",
)
"""Accord's, under the names by which Serve imports them in its processes."""

HOME = Path(__file__).resolve().parents[1]


class ShadowedPackage(ImportError):
    """A file of the user has the name of a package of Accord."""


def refuse_shadows(folders: Iterable[Path]) -> None:
    """Raise `ShadowedPackage` where one of the folders, which processes of Serve import from first, has such a file."""
    for folder in folders:
        for name in PACKAGES:
            for path in (folder / f"{name}.py", folder / name):
                if _importable(path) and path.resolve().parent != HOME:
                    raise ShadowedPackage(
                        f"{path} would be imported instead of Accord's own package {name!r}; rename it, or keep the "
                        "config and what it imports in another folder"
                    )


def _importable(path: Path) -> bool:
    if path.suffix == ".py":
        return path.is_file()
    return path.is_dir() and any(path.glob("*.py"))
