"""What is benchmarked is planned as the shipped config says."""

from pathlib import Path

import pytest
import yaml

from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler_scene import cluster, endpoint, even
from benchmarks.proteus.shipped import CONFIG, shipped_options
from catalog.errors import ConfigError

ONE = cluster(endpoint("a", even("v", 1.0, 10.0)))


def test_the_shipped_options_are_those_of_the_config() -> None:
    controller = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["applications"][0]["args"]["controller"]
    assert shipped_options(ONE, 5) == ProteusOptions(**controller["proteus"])


def test_few_workers_may_hold_two_variants_as_live() -> None:
    assert shipped_options(ONE, 1).per_worker == 2


@pytest.mark.parametrize(("given", "words"), [("everywhere", "has planner 'everywhere'"), (None, "cannot read")])
def test_a_config_without_the_planner_is_refused(tmp_path: Path, given: str | None, words: str) -> None:
    file = tmp_path / "config.yaml"
    if given is not None:
        content = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
        content["applications"][0]["args"]["controller"] = {"planner": given}
        file.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=words):
        shipped_options(ONE, 5, file)
