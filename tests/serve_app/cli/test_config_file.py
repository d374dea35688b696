"""What commands say of a Serve config file that they refuse."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalog.errors import ConfigError
from serve_app.cli.config_file import artifact_rules, read_serve_file

APPLICATION = {
    "name": "accord",
    "import_path": "serve_app.main:build",
    "args": {"endpoints": {"digits": {"task": "digits", "slo_ms": 100}}, "pools": {"cpu": {}}},
}


def written(folder: Path, **content: Any) -> Path:
    path = folder / "serve.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"http_options": {"host": "127.0.0.1", "prt": 8124}, "applications": [APPLICATION]},
            r"serve.yaml: http_options.prt is unknown \(did you mean 'port'\?\); known here: host, port, ",
        ),
        (
            {"http_option": {"port": 8124}, "applications": [APPLICATION]},
            r"serve.yaml: http_option is unknown \(did you mean 'http_options'\?\)",
        ),
        (
            {"applications": [APPLICATION | {"rout_prefix": "/a"}]},
            r"serve.yaml: applications\[0\].rout_prefix is unknown \(did you mean 'route_prefix'\?\)",
        ),
        (
            {"applications": [APPLICATION | {"deployments": [{"name": "Controller", "user_confg": {}}]}]},
            r"applications\[0\].deployments\[0\].user_confg is unknown \(did you mean 'user_config'\?\)",
        ),
        (
            {"applications": [APPLICATION, {"name": "other", "import_path": "other:app", "arg": {}}]},
            r"applications\[1\].arg is unknown \(did you mean 'args'\?\)",
        ),
        ({"application": [APPLICATION]}, r"application is unknown \(did you mean 'applications'\?\)"),
        (
            {"applications": [{"import_pth": "serve_app.main:build"}]},
            r"import_pth is unknown \(did you mean 'import_path'",
        ),
    ],
)
def test_a_key_that_ray_does_not_know_is_refused(tmp_path: Path, content: dict[str, Any], message: str) -> None:
    path = written(tmp_path, **content)
    for reader in (read_serve_file, artifact_rules):
        with pytest.raises(ConfigError, match=message):
            reader(path)


def test_another_kind_of_file_is_not_taken_for_one_with_unknown_keys(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no application with import_path .*; see configs/quickstart.yaml"):
        read_serve_file(written(tmp_path, version=1, variants=[]))


def test_options_that_ray_knows_are_read(tmp_path: Path) -> None:
    deployment = {"name": "Controller", "user_config": {"pools": {"cpu": {"workers": 2}}}, "max_ongoing_requests": 9}
    application = APPLICATION | {"route_prefix": "/ml", "deployments": [deployment], "runtime_env": {"any": "thing"}}
    path = written(
        tmp_path,
        proxy_location="HeadOnly",
        http_options={"host": "127.0.0.1", "port": 8124, "keep_alive_timeout_s": 9},
        logging_config={"log_level": "DEBUG"},
        applications=[application],
    )
    assert read_serve_file(path).url == "http://127.0.0.1:8124/ml"


def test_a_file_is_read_without_ray(tmp_path: Path) -> None:
    code = "import sys, pathlib; from serve_app.cli.config_file import read_serve_file as read; "
    code += "read(pathlib.Path(sys.argv[1])); sys.exit('ray' in sys.modules)"
    path = written(tmp_path, applications=[APPLICATION])
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)


def test_pieces_for_other_places_may_stand_under_keys_with_an_x(tmp_path: Path) -> None:
    read_serve_file(written(tmp_path, **{"x-pool": {"workers": 2}, "applications": [APPLICATION]}))
