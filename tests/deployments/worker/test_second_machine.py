"""A worker on another machine: on a node of Ray in a network namespace of its own."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import ray
from ray import serve
from ray.serve.config import RequestRouterConfig

from catalog.catalogue import load_catalogue
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from catalog.tensor import Arrays
from catalog.variant import Artifact
from chaos.services.apart import Namespace, namespace, why_no_namespaces
from deployments.messages.worker import WorkerSpec
from deployments.worker import membership
from deployments.worker.client import WorkerClient, WorkerGone
from deployments.worker.replica import WorkerDeployment
from toy_models import write_toy_catalogue

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

X: Arrays = {"x": np.array([1], dtype=np.float32)}
LARGE: Arrays = {"x": np.ones(2_000_000, dtype=np.float32)}
NODE_S, LOST_S = 90.0, 60.0


@dataclass(frozen=True)
class There:
    """The one worker, on the other machine, and a client here."""

    client: WorkerClient
    worker: str


@pytest.fixture(scope="module")
def apart() -> Iterator[Namespace]:
    if why := why_no_namespaces():
        pytest.skip(why)
    with namespace() as made:
        yield made


@pytest.fixture(scope="module")
async def there(
    apart: Namespace, ray_folder: str, free_port: int, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[There]:
    folder = tmp_path_factory.mktemp("there")
    catalogue = load_catalogue(write_toy_catalogue(folder))
    good = catalogue.variant("good")
    long = LatencyProfile("cpu", {1: BatchLatency(9, 100_000.0, 1.0, *4 * (100_000.0,))})
    write_profiles(folder / "long.csv", {"long": ProfiledVariant(90.0, long)})
    hangs = replace(good, name="long", runtime="emulated", artifact=Artifact("long.csv"))
    spec = WorkerSpec("far", "cpu", 1, (good, hangs), catalogue.root, str(folder / "cache"))
    deployment = WorkerDeployment.options(
        name="far",
        max_ongoing_requests=16,
        ray_actor_options={"num_cpus": 0.1, "resources": {"there": 0.1}},
        request_router_config=RequestRouterConfig(
            request_router_class="deployments.worker.address:WorkerAddressRouter"
        ),
    )
    ray.init(
        address="local",
        num_cpus=8,
        include_dashboard=False,
        log_to_driver=False,
        _temp_dir=ray_folder,
        _node_ip_address=apart.outside,
    )
    try:
        with _node(apart, folder / "node.log"):
            http_options = {"host": "127.0.0.1", "port": free_port}
            await asyncio.to_thread(serve.start, proxy_location="HeadOnly", http_options=http_options)
            await asyncio.to_thread(serve.run, deployment.bind(spec), name="far", route_prefix=None)
            loop, found = asyncio.get_running_loop(), asyncio.Queue[frozenset[str]]()
            membership.listen("far", lambda live: loop.call_soon_threadsafe(found.put_nowait, live))
            client = WorkerClient("far", serve.get_deployment_handle("far", "far"), "r1")
            client.follow()
            while not (live := await found.get()):
                pass
            (worker,) = live
            await client.assign(worker, "r1")
            await client.connect(worker)
            yield There(client, worker)
    finally:
        await asyncio.to_thread(ray.shutdown)


async def test_batches_go_over_the_network_to_a_worker_of_another_machine(there: There) -> None:
    assert not there.client._links[there.worker].lost
    assert (await there.client.run(there.worker, "good", X)).outputs["y"].tolist() == [2]
    assert np.array_equal((await there.client.run(there.worker, "good", LARGE)).outputs["y"], LARGE["x"] * 2)


async def test_batches_on_a_machine_that_is_cut_off_are_known_to_be_lost(there: There, apart: Namespace) -> None:
    """The last test: Ray may take the node for dead."""
    batch = asyncio.create_task(there.client.run(there.worker, "long", X))
    await asyncio.sleep(0.5)
    with apart.cut_off(), pytest.raises(WorkerGone, match="nothing comes through") as raised:
        await asyncio.wait_for(batch, LOST_S)
    assert not raised.value.died


@contextmanager
def _node(apart: Namespace, log: Path) -> Iterator[None]:
    """A node of this process's cluster in the namespace, until the block ends."""
    command = [
        *(*apart.prefix, str(Path(sys.executable).with_name("ray")), "start", "--block"),
        *("--address", ray.get_runtime_context().gcs_address, "--node-ip-address", apart.inside),
        *("--num-cpus", "4", "--resources", '{"there": 1}'),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        end_s = time.monotonic() + NODE_S
        while sum(node["Alive"] for node in ray.nodes()) < 2:
            if process.poll() is not None or time.monotonic() > end_s:
                raise RuntimeError(f"no second node within {NODE_S:.0f} s: {log.read_text()}")
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(NODE_S)
