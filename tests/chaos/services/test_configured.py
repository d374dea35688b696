"""A service of the user's own for experiments: which endpoint, which data, and nothing of what is there is touched."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import yaml

from catalog.errors import ConfigError
from chaos.experiment import ON_ANY, experiment, experiments
from chaos.services.configured import apart, check
from chaos.services.numbered import numbered
from chaos.services.start import Choice, started
from serve_app.loadgen.dataset import Dataset

DIGITS = {"task": "digits", "slo_ms": 150}
SECURED = {
    "http_options": {"host": "0.0.0.0", "port": 8000, "ssl_keyfile": "key.pem", "ssl_certfile": "cert.pem"},
    "grpc_options": {"port": 9000},
}


def written(folder: Path, endpoints: dict[str, Any], **args: Any) -> Path:
    path = folder / "mine.yaml"
    args = {"endpoints": endpoints, "pools": {"cpu": {"workers": 1}}, **args}
    ours = {"name": "ours", "route_prefix": "/ml", "import_path": "serve_app.main:build", "args": args}
    other = {"name": "web", "route_prefix": "/web", "import_path": "shop:app"}
    path.write_text(yaml.safe_dump(SECURED | {"applications": [other, ours]}))
    return path


def test_the_only_endpoint_gets_the_built_in_data_of_its_task(tmp_path: Path) -> None:
    file, endpoint, data = check(written(tmp_path, {"mine": DIGITS}), None, None)
    assert (endpoint, file.app.endpoints["mine"].slo_ms) == ("mine", 150)
    assert data.labels is not None
    assert len(data.labels) == len(data.bodies) > 1000


def test_data_that_were_read_for_the_check_are_those_of_the_service(tmp_path: Path) -> None:
    config = written(tmp_path, {"mine": DIGITS})
    np.savez(tmp_path / "mine.npz", image=np.zeros((2, 8, 8), np.float32), label=np.array([0, 1]))
    first, again = (check(config, "mine", str(tmp_path / "mine.npz"))[2] for _ in range(2))
    assert again is first
    assert check(config, "mine", None)[2] is not first


def test_of_several_endpoints_one_is_to_be_named(tmp_path: Path) -> None:
    config = written(tmp_path, {"a": DIGITS, "b": DIGITS})
    with pytest.raises(ConfigError, match=r"mine\.yaml has 2 endpoints; give --endpoint one of a, b"):
        check(config, None, None)
    with pytest.raises(ConfigError, match=r"no endpoint 'c'; give --endpoint one of a, b"):
        check(config, "c", None)
    assert check(config, "b", None)[1] == "b"


def test_a_task_without_built_in_data_needs_a_file(tmp_path: Path) -> None:
    config = written(tmp_path, {"mine": {"task": "strip-find", "slo_ms": 150}})
    with pytest.raises(
        ConfigError, match=r"no built-in data set for task 'strip-find' of endpoint 'mine'; give --dataset"
    ):
        check(config, None, None)
    np.savez(tmp_path / "mine.npz", image=np.zeros((2, 4, 4), np.float32), label=np.array([0, 1]))
    assert len(check(config, None, str(tmp_path / "mine.npz"))[2].bodies) == 2


def test_what_runs_already_is_left_alone(tmp_path: Path) -> None:
    security = {"security": {"keys": {"a": {"env": "KEY"}}}, "clients": {"rate_qps": 5, "burst": 5}}
    config = written(
        tmp_path, {"mine": DIGITS}, controller={"interval_s": 3, "state": "/var/lib/accord.db"}, **security
    )
    content = apart(config, tmp_path / "state.db", 8123)
    assert content["http_options"] == {"host": "127.0.0.1", "port": 8123}
    assert "grpc_options" not in content
    (application,) = content["applications"]
    assert (application["name"], application["route_prefix"]) == ("accord", "/")
    assert application["args"]["controller"] == {"interval_s": 3, "state": str(tmp_path / "state.db")}
    assert set(application["args"]) == {"endpoints", "pools", "controller"}


def test_requests_get_ids_of_their_own_in_place_of_others() -> None:
    bodies = (b'{"id":"x","inputs":[]}', b'{"inputs":[]}', b'{"inputs":[]}')
    data = numbered(Dataset(bodies, (1, 2, 3)), rows=2)
    assert data.ids == ("row-0", "row-1")
    assert [orjson.loads(body)["id"] for body in data.bodies] == ["row-0", "row-1"]
    assert data.labels == (1, 2)


def test_an_unknown_service_is_refused_with_those_that_there_are() -> None:
    with (
        pytest.raises(ConfigError, match=r"service 'mine' is unknown; .*digits.* path of a Serve config file"),
        started(Choice("mine")),
    ):
        pass


def test_no_experiment_runs_on_a_cluster_that_is_there_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    with pytest.raises(ConfigError, match=r"RAY_ADDRESS is '10\.0\.0\.1:6379'.*unset it"), started(Choice("digits")):
        pass


def test_an_experiment_that_needs_its_own_service_names_those_that_do_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'lose-node' needs its own service 'nodes'; .*kill-worker"):
        experiment("lose-node").run(tmp_path, on=Choice("mine.yaml"))
    fit = {name for name, each in experiments().items() if ON_ANY in each.tags}
    assert {"kill-worker", "hang-worker", "kill-router", "kill-controller", "kill-proxy"} <= fit
    assert not fit & {"lose-node", "preempt-spot", "partition-node", "jump-clock", "corrupt-artifact"}


def test_a_variable_that_an_experiment_has_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'kill-worker' has no variable 'seconds'; it has load_s"):
        experiment("kill-worker").run(tmp_path, {"seconds": 3.0})
