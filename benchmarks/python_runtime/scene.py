"""A catalogue with one built-in model both ways."""

import shutil
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from catalog.catalogue import Catalogue, load_catalogue
from catalog.variant import Variant

KINDS = ("onnx", "python")


def written_catalogue(folder: Path, model: str) -> Catalogue:
    """A catalogue file whose variants ``onnx`` and ``python`` are the built-in ``model``, each with its task."""
    builtin = load_catalogue("builtin")
    variant = builtin.variant(model)
    file = str(Path(builtin.root) / variant.artifact.uri)
    entry: dict[str, Any] = TypeAdapter(Variant).dump_python(
        variant, mode="json", exclude_defaults=True, exclude={"measured"}
    )
    onnx = entry | {"name": "onnx", "task": "onnx", "artifact": {"uri": file}}
    python = entry | {
        "name": "python",
        "task": "python",
        "runtime": "python",
        "artifact": {"import": "models:Wrapped"},
        "options": {"file": file},
    }
    shutil.copy(Path(__file__).parent / "models.py", folder)
    path = folder / "catalogue.yaml"
    path.write_text(yaml.safe_dump({"variants": [onnx, python]}))
    return load_catalogue(path)


def service_config(folder: Path, port: int) -> dict[str, Any]:
    """One worker that holds both, with an endpoint for each."""
    return {
        "http_options": {"host": "127.0.0.1", "port": port},
        "logging_config": {"enable_access_log": False},
        "applications": [
            {
                "name": "accord",
                "route_prefix": "/",
                "import_path": "serve_app.main:build",
                "args": {
                    "catalogue": str(folder / "catalogue.yaml"),
                    "endpoints": {
                        kind: {"task": kind, "slo_ms": 100, "selection": {"policy": "fixed", "variant": kind}}
                        for kind in KINDS
                    },
                    "pools": {"cpu": {"workers": 1, "num_cpus": 0.5}},
                },
            }
        ],
    }
