"""``accord profile`` on real models: which batch sizes it measures."""

import csv
import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from serve_app.cli.main import app
from toy_models import write_toy_catalogue


def catalogue_of(folder: Path, row_bytes: int) -> Path:
    """The toy catalogue's one good variant, each of whose rows takes so much."""
    path = write_toy_catalogue(folder)
    written = yaml.safe_load(path.read_text())
    kept = [each | {"row_bytes": row_bytes} for each in written["variants"] if each["name"] == "good"]
    path.write_text(yaml.safe_dump(written | {"variants": kept}))
    return path


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path / "cache"))


def test_no_larger_batches_than_fit_are_measured(tmp_path: Path) -> None:
    path, output = catalogue_of(tmp_path, 10), tmp_path / "made.csv"
    command = ["profile", "--catalogue", str(path), "--budget", "0.2", "--output", str(output), "--json"]
    for more, sizes in (([], [1, 2, 4, 8, 16, 32, 64]), (["--batch-bytes", "99"], [1, 2, 4, 8])):
        done = CliRunner().invoke(app, [*command, *more])
        assert done.exit_code == 0, done.output
        with output.open() as rows:
            assert [int(row["batch_size"]) for row in csv.DictReader(rows)] == sizes
        assert json.loads(done.stdout)["variants"]


def test_the_catalogue_of_a_config_is_measured_where_no_other_is_named(tmp_path: Path) -> None:
    args = {
        "catalogue": str(catalogue_of(tmp_path, 10)),
        "endpoints": {"toy": {"task": "toy", "slo_ms": 1000}},
        "pools": {"cpu": {"workers": 1}},
    }
    served = {"applications": [{"name": "ours", "import_path": "serve_app.main:build", "args": args}]}
    config = tmp_path / "serve.yaml"
    config.write_text(yaml.safe_dump(served))
    done = CliRunner().invoke(app, ["profile", "--config", str(config), "--budget", "0.2", "--json"])
    assert done.exit_code == 0, done.output
    assert list(json.loads(done.stdout)["variants"]) == ["good"]


def test_a_row_that_does_not_fit_ends_in_words(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["profile", "--catalogue", str(catalogue_of(tmp_path, 10)), "--batch-bytes", "9"])
    assert done.exit_code != 0
    assert "one row takes 10 bytes" in done.output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--output", "{0}/none/made.csv"], "there is no folder"),
        (["--output", "{0}"], "is a folder; give the path of a file"),
        (["--output", "{0}/made.csv", "--cores", "1,2"], "leave out --cores, or --output"),
        (["--threshold-qps", "20"], "--threshold-qps 20 is for base allocations; give --cores as well"),
        (["--largest-batch", "4", "--threads", "2"], "--largest-batch 4 is for base allocations; give --cores"),
        (["--cores", "1,2", "--threads", "7"], "--threads 7 and --cores 1,2 both say how many threads"),
    ],
)
def test_an_output_that_cannot_be_written_or_a_contradiction_is_refused_before_anything_is_measured(
    tmp_path: Path, more: list[str], message: str
) -> None:
    given = [each.format(tmp_path) for each in more]
    done = CliRunner().invoke(app, ["profile", "--catalogue", str(catalogue_of(tmp_path, 10)), *given])
    assert done.exit_code == 2
    assert message in done.stderr
