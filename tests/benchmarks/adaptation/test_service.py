"""Configs of the benchmark's services."""

from pathlib import Path

import pytest

from benchmarks.adaptation.__main__ import CONFIG
from benchmarks.adaptation.service import NUM_CPUS, PORT, planned_config, unplanned_config
from catalog.errors import ConfigError
from serve_app.config.schema import AppConfig


def test_the_planned_service_is_that_of_the_file_with_a_port_a_state_and_small_reservations(tmp_path: Path) -> None:
    content = planned_config(CONFIG, tmp_path / "state.db")
    config = AppConfig.model_validate(content["applications"][0]["args"])
    assert content["http_options"]["port"] == PORT
    assert config.controller.state == str(tmp_path / "state.db")
    reserved = {config.router_num_cpus, config.controller.num_cpus, *(p.num_cpus for p in config.pools.values())}
    assert reserved == {NUM_CPUS}
    assert config.controller.planner == "proteus"


def test_the_unplanned_one_serves_the_most_accurate_variant_always(tmp_path: Path) -> None:
    planned = planned_config(CONFIG, tmp_path / "state.db")
    before = str(planned)
    config = AppConfig.model_validate(unplanned_config(planned)["applications"][0]["args"])
    assert config.controller.planner == "everywhere"
    chosen = {(endpoint.selection.policy, endpoint.selection.variant) for endpoint in config.endpoints.values()}
    assert chosen == {("fixed", "digits-ensemble")}
    assert str(planned) == before


def test_a_file_that_is_no_config_of_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("applications: []")
    with pytest.raises(ConfigError, match="no application"):
        planned_config(tmp_path / "other.yaml", tmp_path / "state.db")
