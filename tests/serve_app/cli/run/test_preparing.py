"""What `accord run` refuses before Ray is started."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from catalog.catalogue import load_catalogue
from catalog.errors import AccordError, ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from serve_app.cli.config_file import ServeFile
from serve_app.cli.profile import prepare
from serve_app.config.read import app_config


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """Of all digits, each 2 ms in batches of up to 8 rows."""
    profile = LatencyProfile("cpu", {size: BatchLatency.of(np.full(9, 0.002)) for size in (1, 8)})
    path = tmp_path / "profiles.csv"
    digits = load_catalogue("builtin").of_task("digits")
    write_profiles(path, {each.name: ProfiledVariant(each.accuracy_pct, profile) for each in digits})
    return path


def served(profiles: Path, endpoint: dict[str, Any] | None = None, **more: Any) -> ServeFile:
    args = {
        "endpoints": {"digits": {"task": "digits", "slo_ms": 100} | (endpoint or {})},
        "profiles": {"cpu": str(profiles)},
        "pools": {"cpu": {"workers": 1, "num_cpus": 0.5}},
        **more,
    }
    return ServeFile(Path("serve.yaml"), "http://127.0.0.1:8000", app_config(args))


def test_what_is_right_passes_without_a_word(profiles: Path, caplog: pytest.LogCaptureFixture) -> None:
    pools = {"cpu": {"workers": 1}, "idle": {"workers": 1, "variants": ["digits-mlp"]}}
    prepare(served(profiles, pools=pools))
    assert not caplog.records, "the service warns when it starts"
    logging.getLogger("ray.serve").warning("heard")
    assert caplog.records


@pytest.mark.parametrize(
    ("endpoint", "more", "message"),
    [
        ({"selection": {"policy": "fixed", "variant": "digits-ml"}}, {}, "'digits-ml' does not serve this endpoint"),
        ({}, {"pools": {"cpu": {"workers": 1, "variants": ["digits-ml"]}}}, "did you mean 'digits-mlp'?"),
        ({"ensemble": {"votes": "nope.csv"}}, {}, "cannot read votes"),
        ({"ensemble": {"accuracy": 0.999}}, {}, "would all be refused"),
        ({"slo_ms": 11, "ensemble": {}}, {}, "no member"),
        (
            {"selection": {"policy": "greedy"}},
            {"controller": {"planner": "proteus", "forecast": {"artifacts": {"digits": "nope.safetensors"}}}},
            "nope.safetensors",
        ),
    ],
)
def test_what_the_config_names_and_is_not_there_is_refused(
    profiles: Path, endpoint: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(AccordError) as refused:
        prepare(served(profiles, endpoint, **more))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("endpoint", "more", "message"),
    [
        ({"selection": {"policy": "fixed", "variant": "digits-ml"}}, {}, "did you mean 'digits-mlp'?"),
        ({}, {"pools": {"cpu": {"workers": 1, "variants": ["digits-ml"]}}}, "'digits-ml' serves no endpoint"),
        ({"variants": ["digits-mlp"]}, {"pools": {"cpu": {"variants": ["digits-cnn-s"]}}}, "'digits-cnn-s' serves no"),
    ],
)
def test_names_are_checked_before_anything_is_measured_or_read(
    tmp_path: Path, endpoint: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        prepare(served(tmp_path / "no_such_profiles.csv", endpoint, **more))
    assert message in str(refused.value)


def test_a_profile_file_without_a_variant_that_is_served_is_refused(profiles: Path) -> None:
    profiles.write_text(
        "\n".join(line for line in profiles.read_text().splitlines() if not line.startswith("digits-mlp,"))
    )
    with pytest.raises(ConfigError, match=r"profiles\.cpu has no variant 'digits-mlp'"):
        prepare(served(profiles))
