"""What the benchmark of serving serves."""

from pathlib import Path

import yaml

from benchmarks.serving.__main__ import kept_to
from serve_app.cli.config_file import read_serve_file


def test_accord_is_the_quickstart_kept_to_one_variant(tmp_path: Path) -> None:
    path = tmp_path / "accord.yaml"
    path.write_text(yaml.safe_dump(kept_to("digits-mlp")))
    digits = read_serve_file(path).app.endpoints["digits"]
    assert (digits.selection.policy, digits.selection.variant) == ("fixed", "digits-mlp")
