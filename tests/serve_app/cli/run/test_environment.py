"""The environment of a cluster: what `accord env` prints, and what the image and the manifest for Kubernetes have."""

import os
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from serve_app.cli.config_file import read_serve_file
from serve_app.cli.run.environment import AUTH_ENV, NODE_ENV, OWN_CLUSTER_ENV, PROXY, SERVE_ENV
from serve_app.version import VERSION

ROOT = Path(__file__).parents[4]
SHELL = 'eval "$("$0" -m serve_app.cli.main env)"; "$0" -c "import json, os; print(json.dumps(dict(os.environ)))"'
OF_THE_MACHINE = {"RAY_SERVE_HAPROXY_NBTHREAD"}


def in_shell(given: dict[str, str]) -> dict[str, str]:
    """The environment of what a shell starts after ``eval "$(accord env)"``."""
    before = {name: value for name, value in os.environ.items() if name not in SERVE_ENV | AUTH_ENV}
    done = subprocess.run(
        ["bash", "-c", SHELL, sys.executable], cwd=ROOT, env=before | given, capture_output=True, text=True, check=True
    )
    found: dict[str, str] = yaml.safe_load(done.stdout)
    return found


def image() -> dict[str, str]:
    """Variables of the Dockerfile."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(re.findall(r"^ENV (.*)$", text, re.MULTILINE))))


def manifest() -> dict[str, Any]:
    """The spec of the RayService."""
    service, _ = yaml.safe_load_all((ROOT / "configs/kubernetes/rayservice.yaml").read_text("utf-8"))
    spec: dict[str, Any] = service["spec"]
    return spec


def test_a_shell_has_what_accord_run_would_set_and_what_was_set_stays() -> None:
    found = in_shell({"RAY_SERVE_HAPROXY_NBTHREAD": "3", "RAY_AUTH_MODE": "it's mine"})
    wanted = NODE_ENV | {"RAY_SERVE_HAPROXY_NBTHREAD": "3", "RAY_AUTH_MODE": "it's mine"}
    assert {name: found.get(name) for name in wanted} == wanted
    assert os.access(found[PROXY], os.X_OK)


def test_a_cluster_asks_for_a_token_as_accord_run_does() -> None:
    assert in_shell({})["RAY_AUTH_MODE"] == OWN_CLUSTER_ENV["RAY_AUTH_MODE"] == "token"


def test_the_image_has_the_environment_of_every_node() -> None:
    assert image() == {name: value for name, value in NODE_ENV.items() if name not in OF_THE_MACHINE} | {
        PROXY: "/usr/local/bin/accord-haproxy"
    }


def test_the_image_has_every_package_that_the_wheel_has() -> None:
    copied = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]["find"]
    packages = {
        path.name for path in ROOT.iterdir() if path.is_dir() and any(fnmatch(path.name, p) for p in wanted["include"])
    }
    assert packages <= copied
    assert all((ROOT / path).exists() for path in copied)


def test_the_manifest_has_a_config_whose_replicas_fit_its_pods(tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text(manifest()["serveConfigV2"], encoding="utf-8")
    app = read_serve_file(tmp_path / "serve.yaml").app
    needed = app.routers * app.router_num_cpus + app.controller.num_cpus
    needed += sum(pool.workers * pool.num_cpus for pool in app.pools.values())
    groups = manifest()["rayClusterConfig"]["workerGroupSpecs"]
    assert needed <= sum(group["replicas"] * int(resources(group)["limits"]["cpu"]) for group in groups)


def test_pods_have_the_version_of_ray_that_accord_needs_and_its_image() -> None:
    cluster = manifest()["rayClusterConfig"]
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert f"ray[serve]=={cluster['rayVersion']}" in required
    pods = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    assert {container(pod)["image"].partition(":")[2] for pod in pods} == {VERSION}


def test_pods_have_what_depends_on_their_cpus_and_end_after_ray_has_drained_them() -> None:
    for group in manifest()["rayClusterConfig"]["workerGroupSpecs"]:
        env = {each["name"]: each["value"] for each in container(group)["env"]}
        assert env.keys() >= OF_THE_MACHINE
        assert int(env["RAY_SERVE_HAPROXY_NBTHREAD"]) == int(resources(group)["limits"]["cpu"]) // 2
        drains_s = float(env["RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S"])
        assert drains_s < group["template"]["spec"]["terminationGracePeriodSeconds"]


@pytest.mark.parametrize("name", ["clients", "operators"])
def test_worker_pods_have_the_files_of_keys_and_may_read_them(name: str) -> None:
    served = yaml.safe_load(manifest()["serveConfigV2"])["applications"][0]["args"]
    file = Path(served["security"]["api_keys"][name]["file"])
    for group in manifest()["rayClusterConfig"]["workerGroupSpecs"]:
        pod = group["template"]["spec"]
        assert {mount["mountPath"] for mount in container(group)["volumeMounts"]} == {str(file.parent)}
        assert pod["securityContext"]["fsGroup"] == int(user())
        assert [volume["secret"]["defaultMode"] for volume in pod["volumes"]] == [0o440]


def container(pod: dict[str, Any]) -> dict[str, Any]:
    (only,) = pod["template"]["spec"]["containers"]
    return dict(only)


def resources(pod: dict[str, Any]) -> dict[str, Any]:
    return dict(container(pod)["resources"])


def user() -> str:
    (found,) = re.findall(r"^USER (\d+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    return str(found)
