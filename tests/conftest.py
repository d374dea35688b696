"""What all tests share: no Ray unless a test says so, one thread for BLAS, nothing kept outside temporary folders."""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"
os.environ["RAY_AUTH_MODE"] = "disabled"
os.environ["COLUMNS"] = "80"  # tables have this width, whatever terminal the tests were started from
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# Ray forks as it starts, in processes that have spoken gRPC with clusters before: handlers of gRPC for that can hang
# for good (grpc/grpc#31885). What is forked becomes another program at once.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
# Replicas behind the tests' own clusters are drained by the tests; half a minute each would be spent for nothing.
os.environ["RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S"] = "0.5"

from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from hypothesis import settings

from serve_app.testing.free_ports import find_free_port

# Examples take as long as a shared machine makes them take, and are the same ones in every run.
settings.register_profile("accord", deadline=None, derandomize=True)
settings.load_profile("accord")


@pytest.fixture(scope="session", autouse=True)
def accord_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Profiles and fetched models of the tests stay out of the user's cache."""
    folder = tmp_path_factory.mktemp("accord-cache")
    os.environ["ACCORD_CACHE_DIR"] = str(folder)
    return folder


@pytest.fixture(autouse=True)
def _no_cluster_by_accident(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that starts Ray without the marker ``cluster`` fails."""
    if request.node.get_closest_marker("cluster") is None:
        monkeypatch.setenv("RAY_ADDRESS", "ray://this-test-is-not-marked-cluster.invalid:1")


@pytest.fixture(scope="module")
def free_ports() -> list[int]:
    """Two ports, for whatever listens beside the service."""
    return [find_free_port() for _ in range(2)]


@pytest.fixture(scope="module")
def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on."""
    return find_free_port()


@pytest.fixture(scope="module")
def ray_folder() -> Iterator[str]:
    """Where a cluster of tests lives: paths of its sockets may have 107 characters, and those of pytest are long."""
    folder = mkdtemp(prefix="r")
    yield folder
    rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def ray_cluster(ray_folder: str) -> Iterator[None]:
    """A local Ray cluster for one module, with more CPUs than there are; ended by the fixture."""
    import ray

    ray.init(
        address="local",
        num_cpus=16,
        include_dashboard=False,
        log_to_driver=False,
        _temp_dir=ray_folder,
    )
    yield
    from ray import serve

    serve.shutdown()
    ray.shutdown()
